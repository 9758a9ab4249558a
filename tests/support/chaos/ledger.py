"""The responses of the servers: each is a commitment, whether or not the client received it."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUTES = re.compile(
    r"POST /v1/(?:devices/(?P<device>[^/]+)/lease|trials/(?P<trial>[^/]+)/(?P<report>\w+)"
    r"|(?P<created>studies|devices))$"
)


@dataclass(frozen=True, slots=True)
class Answered:
    """One successful response, with the kind, key and body of its request."""

    kind: str  # lease, complete, fail, release, heartbeat, studies or devices
    key: str
    request: dict[str, Any]
    body: dict[str, Any]


class Ledger:
    """All responses, in the order in which they were recorded; thread-safe."""

    def __init__(self) -> None:
        self.responses: list[Answered] = []
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered: set[str] = set()  # ids of requests sent but not answered
        self._condition = threading.Condition()

    def record(self, route: str, key: str, body: bytes, status: int, reply: bytes) -> None:
        """Record a response."""
        self.statuses[status] += 1
        found = ROUTES.fullmatch(route)
        if found is None or status not in (200, 201):
            return
        kind = "lease" if found["device"] else found["report"] or found["created"]
        response = Answered(kind, key, json.loads(body or b"{}"), json.loads(reply))
        with self._condition:
            self.responses.append(response)
            self.counts[kind] += 1
            self._condition.notify_all()

    def of(self, kind: str) -> list[Answered]:
        """The responses to requests of one kind."""
        return [response for response in list(self.responses) if response.kind == kind]

    def await_response(self, matches: Callable[[Answered], bool], seconds: float) -> Answered:
        """Wait for the next response that `wanted` accepts."""
        with self._condition:
            start = len(self.responses)

            def arrived() -> bool:
                return any(matches(each) for each in self.responses[start:])

            assert self._condition.wait_for(arrived, seconds), "no such response arrived in time"
            return next(each for each in self.responses[start:] if matches(each))

    def await_count(self, kind: str, count: int, seconds: float) -> bool:
        """Wait until `count` requests of a kind were answered in all; False on timeout."""
        with self._condition:
            return self._condition.wait_for(lambda: self.counts[kind] >= count, seconds)
