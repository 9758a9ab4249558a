"""The states that things go through, and the events that move them: one table.

The fold moves nothing except along these lines, and docs/events.md is made from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bentham.errors import InvalidRecording


@dataclass(frozen=True, slots=True)
class Transition:
    """An event moves a thing from any of these states to another."""

    before: tuple[str, ...]
    event: str
    after: str
    when: str = ""  # where the event alone does not say


class Lifecycle:
    """The states of one kind of thing."""

    def __init__(self, name: str, states: dict[str, str], transitions: Sequence[Transition]):
        """`states` says what each means; the first is the one that a thing begins in."""
        self.name, self.states, self.transitions = name, states, tuple(transitions)
        self._moves = {
            (before, each.event, each.after) for each in transitions for before in each.before
        }

    def check(self, before: str, event: str, after: str) -> str:
        """The state after an event; refuse a log in which it cannot follow the one before."""
        if (before, event, after) not in self._moves:
            raise InvalidRecording(
                f"the log holds a {event} of a {self.name} that is {before}, which cannot become "
                f"{after}"
            )
        return after


STUDY = Lifecycle(
    "study",
    {
        "open": "Trials are run for it.",
        "paused": "No new trials are run for it; it can be resumed.",
        "closed": "It is over, by request or by a stop rule.",
    },
    [
        Transition(("open",), "study-paused", "paused"),
        Transition(("paused",), "study-resumed", "open"),
        Transition(("open", "paused"), "study-closed", "closed"),
    ],
)
TRIAL = Lifecycle(
    "trial",
    {
        "running": "Its device holds a lease.",
        "complete": "It ended with a score.",
        "failed": "It ended without a score.",
        "lost": "It was not heard of in time, or was given back untried.",
    },
    [
        Transition(("running",), "trial-completed", "complete"),
        Transition(("running",), "trial-failed", "failed"),
        Transition(("running",), "trial-lost", "lost"),
        Transition(("running",), "trial-released", "lost"),
    ],
)
_ATTEMPTS = "as often as may be"
ARM = Lifecycle(
    "arm",
    {
        "untried": "It may be run.",
        "running": "A trial of it runs.",
        "observed": "Its score is known.",
        "failed": "It is not run again.",
    },
    [
        Transition(("untried",), "trial-leased", "running"),
        Transition(("running",), "trial-completed", "observed"),
        Transition(("running",), "trial-failed", "failed", f"final, or tried {_ATTEMPTS}"),
        Transition(("running",), "trial-failed", "untried", "otherwise"),
        Transition(("running",), "trial-lost", "failed", f"tried {_ATTEMPTS}"),
        Transition(("running",), "trial-lost", "untried", "otherwise"),
        Transition(("running",), "trial-released", "untried"),
    ],
)
LIFECYCLES = (STUDY, TRIAL, ARM)
