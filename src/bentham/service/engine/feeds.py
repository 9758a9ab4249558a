"""Event feeds: an operator receives all events, a tenant those that concern it.

An operator's events have the numbers of the log. A tenant's are numbered separately, since gaps
would reveal the activity of others. Recent events are kept for clients that reconnect.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

KEPT, WAITING = 1000, 1000


class FeedEvent(NamedTuple):
    """An event of a feed: its number there, its kind, the id or name it is about, its time."""

    number: int
    kind: str
    subject: str
    time: float


class Told(NamedTuple):
    """An event of a feed as a listener receives it; a message that is no event has no number."""

    number: int | None
    kind: str
    view: dict[str, Any]


class Subscription:
    """One listener's queue. A listener that does not keep up is cut off, and may reconnect."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Told | None] = asyncio.Queue(WAITING)
        self.cut = False

    def put(self, message: Told | None) -> None:
        """Queue an event; None marks the end."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.cut = True


class Feeds:
    """The feed of all events (None), and one for each tenant."""

    def __init__(self) -> None:
        self._kept: dict[str | None, deque[FeedEvent]] = {}
        self._listeners: dict[str | None, set[Subscription]] = {}

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return sum(map(len, self._listeners.values()))

    def publish(
        self, tenant: str | None, event: FeedEvent, view: Callable[[], dict[str, Any]]
    ) -> None:
        """Add an event to a feed; its view is built once, and only if there are listeners."""
        self._kept.setdefault(tenant, deque(maxlen=KEPT)).append(event)
        self._send(tenant, event.number, event.kind, view)

    def tell(self, tenant: str | None, kind: str, view: Callable[[], dict[str, Any]]) -> None:
        """Send a message that is not an event, and that a client that reconnects does not get."""
        self._send(tenant, None, kind, view)

    def _send(
        self, tenant: str | None, number: int | None, kind: str, view: Callable[[], dict[str, Any]]
    ) -> None:
        if listeners := self._listeners.get(tenant):
            message = Told(number, kind, view())
            for subscription in listeners:
                subscription.put(message)

    def subscribe(
        self, tenant: str | None, last: int | None
    ) -> tuple[Subscription, list[FeedEvent] | None]:
        """Subscribe; with `last`, also return the events after it, None if some are lost."""
        subscription = Subscription()
        self._listeners.setdefault(tenant, set()).add(subscription)
        kept = self._kept.get(tenant, deque())
        if last is None:
            return subscription, []
        missed = [event for event in kept if event.number > last]
        whole = bool(kept) and kept[0].number <= last + 1
        return subscription, missed if whole else None

    def unsubscribe(self, tenant: str | None, subscription: Subscription) -> None:
        """End a subscription."""
        listeners = self._listeners.get(tenant, set())
        listeners.discard(subscription)
        if not listeners:
            self._listeners.pop(tenant, None)

    def forget(self) -> None:
        """Discard the recent events: those that follow may leave a gap."""
        self._kept.clear()

    def close(self) -> None:
        """End all streams, since the server stops."""
        for listeners in self._listeners.values():
            for subscription in listeners:
                subscription.put(None)
