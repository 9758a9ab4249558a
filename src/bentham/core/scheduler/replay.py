"""Replay recorded events to recover a state, or to check every decision."""

from collections.abc import Iterable
from dataclasses import dataclass

from bentham.core.problem.decision import Decision
from bentham.core.problem.events import ArmStarted, Event
from bentham.core.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Difference:
    """A recorded decision that the scheduler would now make differently.

    Attributes:
        recorded: The decision in the recording.
        remade: The decision made now; None if there is nothing to run.
    """

    recorded: Decision
    remade: Decision | None


def recover(scheduler: Scheduler, events: Iterable[Event]) -> None:
    """Apply recorded events to a scheduler. Decisions are applied as recorded, not made again.

    Args:
        scheduler: A new scheduler with the settings of the recorded one.
        events: All events, in the recorded order.

    Raises:
        IllegalEvent: An event does not fit the state. Check that the settings are the recorded
            ones and that no event is missing.
    """
    for event in events:
        scheduler.apply(event)


def verify(scheduler: Scheduler, events: Iterable[Event]) -> list[Difference]:
    """Apply recorded events, make every decision again and return those that differ.

    Args:
        scheduler: A new scheduler with the settings of the recorded one.
        events: All events, in the recorded order.

    Raises:
        IllegalEvent: An event does not fit the state. Check that the settings are the recorded
            ones and that no event is missing.
    """
    differences = []
    for event in events:
        if isinstance(event, ArmStarted):
            remade = scheduler.decide(event.decision.device)
            if remade != event.decision:
                differences.append(Difference(event.decision, remade))
        scheduler.apply(event)
    return differences
