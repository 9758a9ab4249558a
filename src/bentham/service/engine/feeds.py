"""Who listens to what happens: for an operator all of it, for a tenant what concerns it.

An operator's events have the numbers of the log; a tenant's are counted by themselves, since gaps
would tell of others. Some are kept for whoever was away for a moment.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

KEPT, WAITING = 1000, 1000


class Happening(NamedTuple):
    """One event of a feed: its number there, its kind, and what it is about."""

    number: int
    kind: str
    subject: str
    time: float


class Told(NamedTuple):
    """An event of a feed as a listener is told of it."""

    number: int
    kind: str
    view: dict[str, Any]


class Subscription:
    """One listener's queue. Whoever does not keep up is cut off, and may come back."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Told | None] = asyncio.Queue(WAITING)
        self.cut = False

    def put(self, told: Told | None) -> None:
        """Hand on; None is the end."""
        try:
            self.queue.put_nowait(told)
        except asyncio.QueueFull:
            self.cut = True


class Feeds:
    """The feed of everything (None) and of each tenant."""

    def __init__(self) -> None:
        self._kept: dict[str | None, deque[Happening]] = {}
        self._listeners: dict[str | None, set[Subscription]] = {}

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(map(len, self._listeners.values()))

    def publish(
        self, tenant: str | None, happening: Happening, view: Callable[[], dict[str, Any]]
    ) -> None:
        """Something happened in a feed; its view is made once, and only if somebody listens."""
        self._kept.setdefault(tenant, deque(maxlen=KEPT)).append(happening)
        if listeners := self._listeners.get(tenant):
            told = Told(happening.number, happening.kind, view())
            for subscription in listeners:
                subscription.put(told)

    def subscribe(
        self, tenant: str | None, last: int | None
    ) -> tuple[Subscription, list[Happening] | None]:
        """Listen from now on; with `last`, also what came after it: None if that is not known."""
        subscription = Subscription()
        self._listeners.setdefault(tenant, set()).add(subscription)
        kept = self._kept.get(tenant, deque())
        if last is None:
            return subscription, []
        missed = [happening for happening in kept if happening.number > last]
        whole = bool(kept) and kept[0].number <= last + 1
        return subscription, missed if whole else None

    def unsubscribe(self, tenant: str | None, subscription: Subscription) -> None:
        """Listen no longer."""
        listeners = self._listeners.get(tenant, set())
        listeners.discard(subscription)
        if not listeners:
            self._listeners.pop(tenant, None)

    def forget(self) -> None:
        """What happened from now on may not follow what is kept."""
        self._kept.clear()

    def close(self) -> None:
        """The server stops: everybody is told."""
        for listeners in self._listeners.values():
            for subscription in listeners:
                subscription.put(None)
