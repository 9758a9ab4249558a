"""The pool: the state of the service, computed from the events of its log.

`apply` applies one event. Its caller has checked the event against the state (`commands` does), so
that it can be applied completely. The scheduler, which has checks of its own, is changed first.

Time enters only with the events. The scheduler knows studies by their ids, and datasets by tenant
and name: tenants whose datasets have the same name share nothing.
"""

from bentham.errors import InvalidRecording
from bentham.service.fold import events as happened
from bentham.service.fold.state import State
from bentham.service.fold.table import BY_EVENT


class Pool(State):
    """Tenants, tokens, studies, devices, trials, and the scheduler that serves them."""

    def apply(
        self, sequence: int, time: float, event: happened.Event, actor: str = "", key: str = ""
    ) -> None:
        """Apply one event of the log."""
        if sequence != self.sequence + 1:
            raise InvalidRecording(f"event {sequence} follows {self.sequence}; the log has a gap")
        entry = BY_EVENT[type(event)]
        entry.apply(self, time, event)
        self.sequence, self.time = sequence, time
        owner = entry.owner(self, event)
        if owner:
            self.tenants[owner].events += 1
        if key:
            self.keys.note(key, actor, entry.kind, entry.subject(self, event), time)
            if isinstance(event, happened.TrialLeased):
                self.trials[event.id].key = key

    def barred(self, now: float) -> dict[str, str]:
        """Return the tenants that may not be served now, each with the limit it has reached."""
        reached = ((name, tenant.reached_limit(now)) for name, tenant in self.limited.items())
        return {name: limit for name, limit in reached if limit is not None}

    def subject(self, event: happened.Event) -> str:
        """Return the id or name of what the event is about."""
        return BY_EVENT[type(event)].subject(self, event)

    def owner(self, event: happened.Event) -> str:
        """Return the tenant that the event concerns, empty if it concerns only operators."""
        return BY_EVENT[type(event)].owner(self, event)
