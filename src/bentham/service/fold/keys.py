"""Idempotency keys: which event a request became, so that a repeat gets the same answer.

A key in the log is `DIGEST:BODY`: a digest of the token, the address and the key that the client
chose, and one of the request's body. What is kept is bounded per token, by age and by number.
"""

from collections import OrderedDict
from typing import NamedTuple

OLDEST = 86_400.0
MOST = 20_000


class Noted(NamedTuple):
    """What became of a request: the event's kind and subject, the digest of the body, when."""

    kind: str
    subject: str
    body: str
    time: float


class Keys:
    """The keys that are remembered, token by token, the oldest first."""

    def __init__(self) -> None:
        self._noted: dict[str, OrderedDict[str, Noted]] = {}

    def note(self, key: str, actor: str, kind: str, subject: str, time: float) -> None:
        """An event came of the request with this key."""
        digest, _, body = key.partition(":")
        noted = self._noted.setdefault(actor, OrderedDict())
        noted[digest] = Noted(kind, subject, body, time)
        while len(noted) > MOST or next(iter(noted.values())).time < time - OLDEST:
            noted.popitem(last=False)

    def find(self, key: str, actor: str) -> Noted | None:
        """What became of an earlier request with this key."""
        noted = self._noted.get(actor)
        return None if noted is None else noted.get(key.partition(":")[0])

    def forget(self, actor: str) -> None:
        """A token is gone, and its keys with it."""
        self._noted.pop(actor, None)
