"""Replays a table: trials take the recorded time and return the recorded score. For testing."""

import time
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING

from bentham.errors import InvalidInput
from bentham.executors.base import Broken, Declined, Outcome, Progress, Scored
from bentham.wire import Lease

if TYPE_CHECKING:
    from bentham.tables import Table  # imports the core, which other executors do not need


class ReplayExecutor:
    """Returns the table's score for a trial's dataset (or study, by name) and model.

    A trial takes the table's cost times `scale`, in seconds of the given clock.
    """

    def __init__(
        self, table: "Table", scale: float = 0.0, clock: Callable[[], float] = time.monotonic
    ):
        if not (isfinite(scale) and scale >= 0.0):
            raise InvalidInput(f"the scale is {scale:g}; give 0 or more seconds per unit of cost")
        self._table, self._scale, self._clock = table, scale, clock
        self._studies = {name: row for row, name in enumerate(table.studies)}
        self._running: list[ReplayedTrial] = []
        self._models = {name: column for column, name in enumerate(table.models)}

    def start(self, lease: Lease) -> "ReplayedTrial":
        """Start a trial; nothing is computed, only time passes."""
        study = self._studies.get(lease.dataset, self._studies.get(lease.study_name))
        model = self._models.get(lease.model)
        if study is None:  # perhaps the wrong table; another worker may be able to run the trial
            reason = f"the table {self._table.name} has no study {lease.dataset!r}"
            return ReplayedTrial(Declined(reason, unable=True), self._clock(), self._clock)
        if model is None or not isfinite(self._table.scores[study, model]):
            name = lease.dataset or lease.study_name
            reason = f"the table {self._table.name} has no score of {lease.model!r} on {name!r}"
            return ReplayedTrial(Broken(reason, final=True), self._clock(), self._clock)
        ends = self._clock() + self._scale * float(self._table.costs[study, model])
        outcome = Scored(float(self._table.scores[study, model]))
        trial = ReplayedTrial(outcome, ends, self._clock)
        self._running = [each for each in self._running if each.poll() is None] + [trial]
        return trial

    def slots(self) -> None:
        """Return None: there are as many slots as the worker has devices."""

    def close(self) -> None:
        """End all running trials."""
        for trial in self._running:
            trial.kill()


class ReplayedTrial:
    """A trial that ends at a time known from the start."""

    def __init__(self, outcome: Outcome, ends: float, clock: Callable[[], float]):
        self._outcome, self._ends, self._clock = outcome, ends, clock
        self._started = clock()

    def poll(self) -> Outcome | None:
        """Return the recorded outcome once the recorded time has passed; None until then."""
        return self._outcome if self._clock() >= self._ends else None

    def kill(self) -> None:
        """End the trial now without a score, unless it has ended."""
        if self.poll() is None:
            self._outcome, self._ends = Broken("killed"), self._clock()

    def progress(self) -> Progress:
        """Return the fraction of its time that has passed."""
        duration = self._ends - self._started
        share = (self._clock() - self._started) / duration if duration > 0.0 else 1.0
        return Progress(min(1.0, share))

    def log(self) -> bytes:
        """Return an empty log: no process ran."""
        return b""
