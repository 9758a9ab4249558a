"""One run of a cell, as plain data that can be stored in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentham.core.problem.decision import Reason
from bentham.core.problem.events import ArmStarted
from bentham.experiments.variants import serve
from bentham.reproduce.problems import TheoryCell, are_numbers
from bentham.sim.simulator import Run
from bentham.tables import Table

Result = dict[str, Any]
DRAWS = "draws:"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table served by a variant (see `bentham bench regret`) with a number of devices.

    `draws:STUDIES` is a table of STUDIES studies, drawn again for every run.
    """

    table: str
    variant: str
    devices: int

    @property
    def name(self) -> str:
        """The name of the cell's file, without suffix."""
        return f"{self.table.replace(':', '-')}.{self.variant}.{self.devices}"

    @property
    def work(self) -> float:
        """A rough estimate of a run's duration, to start with the longest ones."""
        return (100.0 if self.variant == "default" else 1.0) * (50 if "synth" in self.table else 1)

    def run(self, seed: int, tables: Mapping[str, Table]) -> Result:
        """Run once."""
        table = tables[self.table]
        if self.table.startswith(DRAWS):
            table = drawn(table, int(self.table.removeprefix(DRAWS)), seed)
        run = serve(table, self.variant, self.devices, seed)
        time, mean = _warmed_up(run)
        return {
            "seed": seed,
            "cumulative_regret": run.regret.cumulative,
            "end_time": run.regret.end_time,
            "warm_start_ends": time,
            "regret_then": mean,
            "curve": [list(point) for point in run.regret.curve],
        }

    def complete(self, result: Result) -> bool:
        """Return whether a result has the fields that figures and claims need, and is valid."""
        curve = result["curve"]
        numbers = [result["cumulative_regret"], result["regret_then"]]
        numbers += [number for point in curve for number in point]
        return (
            len(curve) > 0
            and all(len(point) == 2 for point in curve)
            and curve[0][0] == 0.0
            and are_numbers(numbers)
        )


Cell = TableCell | TheoryCell


def drawn(table: Table, studies: int, seed: int) -> Table:
    """Return `studies` studies of a table, drawn at random."""
    places = np.random.default_rng([seed, studies]).permutation(len(table.studies))[:studies]
    return table.only(sorted(places.tolist()))


def _warmed_up(run: Run) -> tuple[float, float]:
    """Return when the last trial of the warm start ended, and the mean regret at that time."""
    first = {
        event.decision.trial
        for event in run.events
        if isinstance(event, ArmStarted) and event.decision.reason is Reason.WARM_START
    }
    ends = [trial.end for number, trial in enumerate(run.trials) if number in first]
    # A run ends when every study has its best model, possibly during the warm start.
    end = max((run.regret.end_time if time is None else time for time in ends), default=0.0)
    return end, [mean for time, mean in run.regret.curve if time <= end][-1]
