"""What the servers answered: each answer is a promise, whoever may have heard it."""

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
    """One answer that counts: what was asked, with which key and body, and what came back."""

    what: str  # lease, complete, fail, release, heartbeat, studies or devices
    key: str
    asked: dict[str, Any]
    answer: dict[str, Any]


class Ledger:
    """All answers, in the order in which they were heard; may be written and awaited by threads."""

    def __init__(self) -> None:
        self.answers: list[Answered] = []
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unanswered: set[str] = set()  # ids of requests that were sent
        self._condition = threading.Condition()

    def note(self, route: str, key: str, body: bytes, status: int, reply: bytes) -> None:
        """An answer was heard."""
        self.statuses[status] += 1
        found = ROUTES.fullmatch(route)
        if found is None or status not in (200, 201):
            return
        what = "lease" if found["device"] else found["report"] or found["created"]
        answered = Answered(what, key, json.loads(body or b"{}"), json.loads(reply))
        with self._condition:
            self.answers.append(answered)
            self.counts[what] += 1
            self._condition.notify_all()

    def of(self, what: str) -> list[Answered]:
        """The answers to requests of one sort."""
        return [answered for answered in list(self.answers) if answered.what == what]

    def await_answer(self, wanted: Callable[[Answered], bool], seconds: float) -> Answered:
        """The next answer of a sort, from now on."""
        with self._condition:
            place = len(self.answers)

            def arrived() -> bool:
                return any(wanted(each) for each in self.answers[place:])

            assert self._condition.wait_for(arrived, seconds), "no such answer was heard in time"
            return next(each for each in self.answers[place:] if wanted(each))

    def await_count(self, what: str, count: int, seconds: float) -> bool:
        """Wait until so many requests of a sort were answered in all; False if they were not."""
        with self._condition:
            return self._condition.wait_for(lambda: self.counts[what] >= count, seconds)
