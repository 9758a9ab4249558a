"""What goes between the executor, the fork server and a warden.

Requests to the fork server have a fixed size: a kind and the number of a warden. `FORK` comes with
the pipes of the new warden, and `REAP` is answered with the exit code of one that has ended.
Orders to a warden, and its answers, are lines of JSON; `Channel` is the warden's end.
"""

import json
import os
import struct
from collections import deque
from typing import Any, TypedDict

REQUEST, STATUS = struct.Struct("!BI"), struct.Struct("!i")
FORK, KILL, REAP = range(3)


class Order(TypedDict, total=False):
    """A trial to run: a function called with `job` and `report`, or a command; and its limits."""

    function: str  # "package.module:name"
    job: Any
    command: list[str]
    work: str
    log: str
    environment: dict[str, str]
    limits: dict[str, Any]
    kill: bool  # not a trial to run: kill the running one


class Channel:
    """Lines of JSON to and from the executor.

    `waiting` holds orders that arrived together with an earlier one. Code that runs the earlier
    order must check it, because the pipe does not become readable for them again.
    """

    def __init__(self, orders: int, answers: int):
        self.orders, self.answers = orders, answers
        self.waiting: deque[Order] = deque()
        self._buffer = b""

    def receive(self) -> bool:
        """Read orders into `waiting`, blocking until there is input; False at end of input."""
        content = os.read(self.orders, 2**16)
        *lines, self._buffer = (self._buffer + content).split(b"\n")
        self.waiting += [json.loads(line) for line in lines]
        return bool(content)

    def take(self) -> Order | None:
        """Wait for the next order and return it; None at end of input."""
        while not self.waiting:
            if not self.receive():
                return None
        return self.waiting.popleft()

    def send(self, message: dict[str, Any]) -> None:
        """Send an answer; raises OSError if the executor has closed the pipe."""
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self.answers, line) :]
