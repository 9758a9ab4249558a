"""A fit as a task: begun when it is due, needed a little later, computed by whoever has the time.

What comes of a task depends on nothing but the task, so it does not matter who computes it, nor
when: decisions are the same in a simulation, which computes it when it is needed, and in a service
that has another process do it meanwhile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bentham.core.learning.data import Observed
from bentham.core.learning.fit import Parameters, Switches, fit
from bentham.core.learning.similarity import Kinship
from bentham.core.learning.target import Features


@dataclass(frozen=True, slots=True)
class FitTask:
    """All that a fit is made from; see `fit`."""

    observed: Sequence[Observed]
    models: int
    features: Features | Kinship | None
    before: Parameters | None
    switches: Switches
    turn: int

    def run(self) -> Parameters | None:
        """Compute it."""
        return fit(self.observed, self.models, self.features, self.before, self.switches, self.turn)


# What a task gives, by the time it is needed.
Result: TypeAlias = Callable[[], Parameters | None]
# Sees to it that a task is computed; returns at once.
Begin: TypeAlias = Callable[[FitTask], Result]


def when_needed(task: FitTask) -> Result:
    """Nothing is computed before it is needed."""
    return task.run
