"""The working state: the pool, the leases, and the events that are not committed yet."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bentham.service.engine.clock import Clock
from bentham.service.engine.feeds import Feeds, Happening
from bentham.service.engine.leases import Leases, Terms
from bentham.service.engine.observer import Observer
from bentham.service.engine.rules import consequences, overdue
from bentham.service.engine.scope import SERVER, Caller
from bentham.service.fold import events as happened
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_EVENT
from bentham.storage import Record

Describe = Callable[["WorkingState", Happening], dict[str, Any]]


class WorkingState:
    """The state that the engine changes, on one thread."""

    def __init__(self, pool: Pool, terms: Terms, clock: Clock, observer: Observer):
        self.pool = pool
        self.leases = Leases(terms)
        self.pending: list[Record] = []
        # The committed tokens: callers are looked up here before their turn.
        self.tokens = dict(pool.tokens)
        self.applying = False  # whether the pool may be half changed
        self._happenings: list[tuple[str | None, Happening]] = []
        self._clock, self._observer = clock, observer
        self.renew_all()

    def now(self) -> float:
        """Return the time of day; recorded times never decrease."""
        return max(self._clock.time(), self.pool.time)

    def happen(
        self,
        events: list[happened.Event],
        now: float,
        caller: Caller = SERVER,
        request: str = "",
        key: str = "",
    ) -> str:
        """Apply events and their consequences, to be committed; return the last one's subject."""
        subject = ""
        for event in events:
            own_key = key if event is events[-1] else ""
            subject = self._apply(event, now, caller.token, request, own_key)
            for closed in consequences(self.pool, event, now):
                self._apply(closed, now, SERVER.token, request, "")
        return subject

    def pass_time(self) -> None:
        """Apply the events that are due by time alone."""
        now = self.now()
        for events in overdue(self.pool, self.leases, now, self._clock.instant()):
            self.happen(events, now)

    def _apply(self, event: happened.Event, now: float, actor: str, request: str, key: str) -> str:
        pool, entry = self.pool, BY_EVENT[type(event)]
        kind = entry.kind
        sequence = pool.sequence + 1
        self.applying = True
        pool.apply(sequence, now, event, actor, key)
        owner, subject = entry.owner(pool, event), entry.subject(pool, event)
        self.pending.append(
            Record(
                sequence, now, kind, happened.VERSION, actor, request, owner, key,
                happened.encode(event),
            )
        )  # fmt: skip
        self._happenings.append((None, Happening(sequence, kind, subject, now)))
        if owner:
            number = pool.tenants[owner].events
            self._happenings.append((owner, Happening(number, kind, subject, now)))
        instant = self._clock.instant()
        if isinstance(event, happened.TrialLeased):
            self.leases.grant(subject, instant)
        elif entry.ends_trial:
            self.leases.end(subject)
            self._observer.trial_ended(kind)
        elif isinstance(event, happened.DeviceLeft):
            self.leases.gone(event.name)
        if device := entry.alive(pool, event):
            self.leases.saw(device, instant, now)
        self.applying = False
        return subject

    def renew_all(self) -> None:
        """Give all running trials a full lease, and count all devices as seen now."""
        instant, now = self._clock.instant(), self.now()
        for trial in self.pool.running:
            self.leases.grant(trial, instant)
        for device in self.pool.devices:
            self.leases.saw(device, instant, now)

    def renew(self, trial: str, device: str) -> None:
        """Renew the lease of a trial whose device reports that it still runs."""
        self.leases.grant(trial, self._clock.instant())
        self.saw(device)

    def saw(self, device: str) -> None:
        """Record a sign of life of a device."""
        self.leases.saw(device, self._clock.instant(), self.now())

    def committed(self, feeds: Feeds, describe: Describe) -> None:
        """Notify listeners of the pending events, which are in the log now."""
        self.pending = []
        for tenant, happening in self._happenings:
            if happening.kind.startswith("token-"):
                self.tokens[happening.subject] = self.pool.tokens[happening.subject]
            feeds.publish(tenant, happening, partial(describe, self, happening))
        self._happenings = []
