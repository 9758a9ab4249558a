"""Lines of JSON between the executor and a warden, as the warden reads and writes them."""

import json
import os
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
    """Lines of JSON to and from the executor."""

    def __init__(self, orders: int, answers: int):
        self.orders, self.answers = orders, answers
        self._buffer = b""

    def receive(self) -> list[Order] | None:
        """What has come, after waiting for some of it; None when there will be no more."""
        content = os.read(self.orders, 2**16)
        if not content:
            return None
        *lines, self._buffer = (self._buffer + content).split(b"\n")
        return [json.loads(line) for line in lines]

    def send(self, message: dict[str, Any]) -> None:
        """Answer; raises OSError when nobody reads."""
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self.answers, line) :]
