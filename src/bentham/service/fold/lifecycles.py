"""The states of studies, trials and arms, and the events that change them, in one table.

The fold allows only these transitions, and docs/events.md is generated from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bentham.errors import InvalidRecording


@dataclass(frozen=True, slots=True)
class Transition:
    """An event changes the state from any of `before` to `after`."""

    before: tuple[str, ...]
    event: str
    after: str
    when: str = ""  # the condition, if the event alone does not decide


class Lifecycle:
    """The states of one kind of entity."""

    def __init__(self, name: str, states: dict[str, str], transitions: Sequence[Transition]):
        """`states` gives the meaning of each state; the first is the initial state."""
        self.name, self.states, self.transitions = name, states, tuple(transitions)
        self._moves = {
            (before, each.event, each.after) for each in transitions for before in each.before
        }

    def check(self, before: str, event: str, after: str) -> str:
        """Return the state after an event; refuse a transition that is not in the table."""
        if (before, event, after) not in self._moves:
            raise InvalidRecording(
                f"the log contains {event} for a {self.name} that is {before}, which cannot become "
                f"{after}"
            )
        return after


STUDY = Lifecycle(
    "study",
    {
        "open": "It gets trials.",
        "paused": "It gets no new trials; it can be resumed.",
        "closed": "It has ended, by request or by a stop rule; it can be reopened.",
    },
    [
        Transition(("open",), "study-paused", "paused"),
        Transition(("paused",), "study-resumed", "open"),
        Transition(("open", "paused"), "study-closed", "closed"),
        Transition(("closed",), "study-reopened", "open"),
    ],
)
TRIAL = Lifecycle(
    "trial",
    {
        "running": "Its device holds a lease.",
        "complete": "It ended with a score, or with a fitted model.",
        "failed": "It ended without a score.",
        "lost": "Its lease expired, its device left, or it was released untried.",
    },
    [
        Transition(("running",), "trial-completed", "complete"),
        Transition(("running",), "fit-completed", "complete"),
        Transition(("running",), "trial-failed", "failed"),
        Transition(("running",), "trial-lost", "lost"),
        Transition(("running",), "trial-released", "lost"),
    ],
)
_ATTEMPTS = "as many times as allowed"
ARM = Lifecycle(
    "arm",
    {
        "untried": "It may be run.",
        "running": "A trial of it is running.",
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
FIT = Lifecycle(
    "fit",
    {
        "waiting": "It gets a trial when a device is free; trials that score models come after it.",
        "running": "A trial fits the model.",
        "ready": "The file of the fitted model can be downloaded.",
        "failed": "It is not tried again, unless it is requested again.",
    },
    [
        Transition(("waiting",), "fit-leased", "running"),
        Transition(("running",), "fit-completed", "ready"),
        Transition(("running",), "trial-failed", "failed", f"final, or tried {_ATTEMPTS}"),
        Transition(("running",), "trial-failed", "waiting", "otherwise"),
        Transition(("running",), "trial-lost", "failed", f"tried {_ATTEMPTS}"),
        Transition(("running",), "trial-lost", "waiting", "otherwise"),
        Transition(("running",), "trial-released", "waiting"),
    ],
)
LIFECYCLES = (STUDY, TRIAL, ARM, FIT)
