"""A fit as a task: started when it is due, needed a little later, computed by any process.

The result depends on the task alone, not on where or when it is computed. So decisions are the same
in a simulation, which computes the fit when it is needed, and in a service, where another process
computes it in the meantime.
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
    """The complete input of a fit; see `fit`."""

    observed: Sequence[Observed]
    models: int
    features: Features | Kinship | None
    before: Parameters | None
    switches: Switches
    turn: int

    def run(self) -> Parameters | None:
        """Compute the fit."""
        return fit(self.observed, self.models, self.features, self.before, self.switches, self.turn)


# Returns the result of a task, and waits for it if necessary.
Result: TypeAlias = Callable[[], Parameters | None]
# Starts the computation of a task and returns at once.
Begin: TypeAlias = Callable[[FitTask], Result]


def when_needed(task: FitTask) -> Result:
    """Start nothing: the task is computed when its result is needed."""
    return task.run
