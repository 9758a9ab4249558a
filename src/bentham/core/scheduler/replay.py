"""Going through recorded events again: to recover a state, or to check every decision."""

from collections.abc import Iterable
from dataclasses import dataclass

from bentham.core.problem.decision import Decision
from bentham.core.problem.events import Event, TrialStarted
from bentham.core.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision that would be made otherwise now."""

    recorded: Decision
    remade: Decision | None


def recover(scheduler: Scheduler, events: Iterable[Event]) -> None:
    """Apply recorded events; decisions are taken as they were recorded, never made again."""
    for event in events:
        scheduler.apply(event)


def verify(scheduler: Scheduler, events: Iterable[Event]) -> list[Difference]:
    """Apply recorded events, make every decision again, and report where it differs."""
    differences = []
    for event in events:
        if isinstance(event, TrialStarted):
            remade = scheduler.decide(event.decision.device)
            if remade != event.decision:
                differences.append(Difference(event.decision, remade))
        scheduler.apply(event)
    return differences
