"""One run of a cell, as plain data that a file can keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bentham.core.decision import Reason
from bentham.core.events import TrialStarted
from bentham.experiments.variants import serve
from bentham.reproduce.problems import TheoryCell
from bentham.sim.simulator import Run
from bentham.tables import Table

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table served by a variant (see `bentham bench regret`) with so many devices."""

    table: str
    variant: str
    devices: int

    @property
    def name(self) -> str:
        """As its file is called."""
        return f"{self.table.replace(':', '-')}.{self.variant}.{self.devices}"

    @property
    def work(self) -> float:
        """How long a run takes, very roughly: to begin with the long ones."""
        return (100.0 if self.variant == "default" else 1.0) * (50 if "synth" in self.table else 1)

    def run(self, seed: int, tables: Mapping[str, Table]) -> Result:
        """One run."""
        run = serve(tables[self.table], self.variant, self.devices, seed)
        time, mean = _warmed_up(run)
        return {
            "seed": seed,
            "cumulative_regret": run.regret.cumulative,
            "end_time": run.regret.end_time,
            "warm_start_ends": time,
            "regret_then": mean,
            "curve": [list(point) for point in run.regret.curve],
        }


Cell = TableCell | TheoryCell


def _warmed_up(run: Run) -> tuple[float, float]:
    """When the last trial of the warm start ended, and the mean regret then."""
    first = {
        event.decision.trial
        for event in run.events
        if isinstance(event, TrialStarted) and event.decision.reason is Reason.WARM_START
    }
    ends = [trial.end for number, trial in enumerate(run.trials) if number in first]
    # A run is over once every study has its best model, be it in the warm start.
    end = max((run.regret.end_time if time is None else time for time in ends), default=0.0)
    return end, [mean for time, mean in run.regret.curve if time <= end][-1]
