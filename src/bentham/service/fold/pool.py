"""The fold: everything that the service knows, as the events of its log made it.

`apply` takes in one event. Whoever calls it has checked the event against the state (`commands`
does), so that it can be applied whole; the scheduler, which checks for itself, comes first.

Time enters with the events only. Studies go by their ids to the scheduler, and datasets by their
tenant and name: tenants that happen to name a dataset alike share nothing.
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
        """Take in one event of the log."""
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
        """The tenants that may not be served now, each with the limit that it has reached."""
        reached = ((name, tenant.reached_limit(now)) for name, tenant in self.limited.items())
        return {name: limit for name, limit in reached if limit is not None}

    def subject(self, event: happened.Event) -> str:
        """What the event is about, by its id or name."""
        return BY_EVENT[type(event)].subject(self, event)

    def owner(self, event: happened.Event) -> str:
        """The tenant whom the event concerns, empty if it is the operator's own affair."""
        return BY_EVENT[type(event)].owner(self, event)
