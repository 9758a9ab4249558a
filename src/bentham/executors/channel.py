"""Lines of JSON between the executor and a warden, as the warden reads and writes them."""

import json
import os
from collections import deque
from typing import Any, TypedDict


class Order(TypedDict, total=False):
    """A trial: a function called with a job and `report`, or a command; where, and its limits."""

    function: str  # "package.module:name"
    job: Any
    command: list[str]
    work: str
    log: str
    environment: dict[str, str]
    limits: dict[str, Any]
    kill: bool  # not a trial: end the one that runs


class Channel:
    """Lines of JSON to and from the executor.

    `waiting` are orders that came with one before: whoever runs that one must look at them, since
    the pipe does not tell of them again.
    """

    def __init__(self, orders: int, answers: int):
        self.orders, self.answers = orders, answers
        self.waiting: deque[Order] = deque()
        self._buffer = b""

    def receive(self) -> bool:
        """Read what has come into `waiting`, or wait for it; False when there is no more."""
        content = os.read(self.orders, 2**16)
        *lines, self._buffer = (self._buffer + content).split(b"\n")
        self.waiting += [json.loads(line) for line in lines]
        return bool(content)

    def take(self) -> Order | None:
        """The next order, waited for; None when there are no more."""
        while not self.waiting:
            if not self.receive():
                return None
        return self.waiting.popleft()

    def send(self, message: dict[str, Any]) -> None:
        """Answer; raises OSError when nobody reads."""
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self.answers, line) :]
