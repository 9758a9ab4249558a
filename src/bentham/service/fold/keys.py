"""Idempotency keys: which event a request led to, so that a repeat gets the same reply.

A key in the log is `DIGEST:BODY`: a digest of the token, the route and the key that the client
chose, and a digest of the request's body. The stored keys of a token are limited by age and number.
"""

from collections import OrderedDict
from typing import NamedTuple

OLDEST = 86_400.0
MOST = 20_000


class Noted(NamedTuple):
    """The outcome of a request: the event's kind and subject, the digest of the body, the time."""

    kind: str
    subject: str
    body: str
    time: float


class Keys:
    """The stored keys by token, oldest first."""

    def __init__(self) -> None:
        self._noted: dict[str, OrderedDict[str, Noted]] = {}

    def note(self, key: str, actor: str, kind: str, subject: str, time: float) -> None:
        """Record the event of the request with this key."""
        digest, _, body = key.partition(":")
        noted = self._noted.setdefault(actor, OrderedDict())
        noted[digest] = Noted(kind, subject, body, time)
        while len(noted) > MOST or next(iter(noted.values())).time < time - OLDEST:
            noted.popitem(last=False)

    def find(self, key: str, actor: str) -> Noted | None:
        """Return the outcome of an earlier request with this key; None if there is none."""
        noted = self._noted.get(actor)
        return None if noted is None else noted.get(key.partition(":")[0])

    def forget(self, actor: str) -> None:
        """Discard the keys of a token."""
        self._noted.pop(actor, None)
