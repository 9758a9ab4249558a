"""The working state: the pool, the leases, and the events that are not committed yet."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from bentham.service.engine.clock import Clock
from bentham.service.engine.feeds import FeedEvent, Feeds
from bentham.service.engine.leases import Leases, Terms
from bentham.service.engine.notes import Note, note_of
from bentham.service.engine.rules import closings, consequences, ending_by_gain, overdue
from bentham.service.engine.scope import SERVER, Caller
from bentham.service.engine.watch import Watch
from bentham.service.fold import events
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_EVENT, apply
from bentham.storage import Record

# Studies that may end by what they are expected to gain, checked at a time: each takes up to half a
# millisecond.
CHECKED = 16


class Observer(Protocol):
    """Notified of every decision, commit and end of a trial."""

    def decided(self, seconds: float) -> None:
        """Record how long a decision took."""

    def committed(self, events: int, seconds: float) -> None:
        """Record the number of events of a commit, and how long it took."""

    def trial_ended(self, kind: str) -> None:
        """Record that a trial ended, by an event of this kind."""


class SilentObserver:
    """Records nothing."""

    def decided(self, seconds: float) -> None:
        """Do nothing."""

    def committed(self, events: int, seconds: float) -> None:
        """Do nothing."""

    def trial_ended(self, kind: str) -> None:
        """Do nothing."""


Describe = Callable[["WorkingState", FeedEvent], dict[str, Any]]


class WorkingState:
    """The state that the engine changes, on one thread."""

    def __init__(self, pool: Pool, terms: Terms, clock: Clock, observer: Observer):
        self.pool = pool
        self.leases = Leases(terms)
        self.pending: list[Record] = []
        # The committed tokens: callers are looked up here before their turn.
        self.tokens = dict(pool.tokens)
        self.applying = False  # whether the pool may be half changed
        self.watch = Watch(pool, self.leases)
        self._feed_events: list[tuple[str | None, FeedEvent]] = []
        self._notes: list[Note] = []
        self._unchecked: list[Study] = []  # studies whose stop rules are still to be checked
        self._clock, self._observer = clock, observer
        self.renew_all()

    def now(self) -> float:
        """Return the time of day; recorded times never decrease."""
        return max(self._clock.time(), self.pool.time)

    def record(
        self,
        new_events: list[events.Event],
        now: float,
        caller: Caller = SERVER,
        request: str = "",
        key: str = "",
    ) -> str:
        """Apply events and their consequences, to be committed; return the last one's subject."""
        subject = ""
        for event in new_events:
            own_key = key if event is new_events[-1] else ""
            subject = self._apply(event, now, caller.token, request, own_key)
            for closed in consequences(self.pool, event, now):
                self._apply(closed, now, SERVER.token, request, "")
        return subject

    def pass_time(self) -> None:
        """Apply the events that are due by time alone."""
        now, instant = self.now(), self._clock.instant()
        self.watch.look(now, instant)
        for new_events in overdue(self.pool, self.leases, now, instant):
            self.record(new_events, now)
        if not self._unchecked:
            self._unchecked = ending_by_gain(self.pool)
        checked = self._unchecked[-CHECKED:]
        del self._unchecked[-CHECKED:]
        self.record(closings(self.pool, checked, now), now)

    def _apply(self, event: events.Event, now: float, actor: str, request: str, key: str) -> str:
        pool, entry = self.pool, BY_EVENT[type(event)]
        kind = entry.kind
        sequence = pool.sequence + 1
        self.applying = True
        apply(pool, sequence, now, event, actor, key)
        owner, subject = entry.owner(pool, event), entry.subject(pool, event)
        self.pending.append(
            Record(
                sequence, now, kind, events.VERSION, actor, request, owner, key,
                events.encode(event),
            )
        )  # fmt: skip
        self._feed_events.append((None, FeedEvent(sequence, kind, subject, now)))
        if owner:
            number = pool.tenants[owner].events
            self._feed_events.append((owner, FeedEvent(number, kind, subject, now)))
        if (note := note_of(pool, event)) is not None:
            self._notes.append(note)
        instant = self._clock.instant()
        if entry.starts_trial:
            self.leases.grant(subject, instant)
        elif entry.ends_trial:
            self.leases.end(subject)
            self._observer.trial_ended(kind)
        elif isinstance(event, events.DeviceLeft):
            self.leases.forget(event.name)
        if device := entry.alive(pool, event):
            self.saw(device)
        self.applying = False
        return subject

    def renew_all(self) -> None:
        """Give all running trials a full lease, and count the devices as seen now.

        Those that are away stay away until their next sign of life.
        """
        instant, now = self._clock.instant(), self.now()
        for trial in self.pool.running:
            self.leases.grant(trial, instant)
        for device in self.pool.devices:
            if device not in self.leases.away:
                self.leases.saw(device, instant, now)

    def renew(self, trial: str, device: str) -> None:
        """Renew the lease of a trial whose device reports that it still runs."""
        self.leases.grant(trial, self._clock.instant())
        self.saw(device)

    def saw(self, device: str) -> None:
        """Record a sign of life of a device."""
        if self.leases.saw(device, self._clock.instant(), self.now()):
            self.watch.back(device)

    def committed(self, feeds: Feeds, describe: Describe) -> None:
        """Notify listeners of the pending events, which are in the log now."""
        self.pending = []
        for tenant, feed_event in self._feed_events:
            if feed_event.kind.startswith("token-"):
                self.tokens[feed_event.subject] = self.pool.tokens[feed_event.subject]
            feeds.publish(tenant, feed_event, partial(describe, self, feed_event))
        self._feed_events = []
        for note in self._notes:
            note.write()
        self._notes = []

    def announce(self, feeds: Feeds, describe: Describe) -> None:
        """Log, and tell listeners, what has changed without an event."""
        notes, messages = self.watch.take()
        for note in notes:
            note.write()
        for tenant, kind, subject in messages:
            message = FeedEvent(0, kind, subject, self.now())
            feeds.tell(tenant, kind, partial(describe, self, message))
