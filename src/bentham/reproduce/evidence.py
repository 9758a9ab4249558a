"""All results of a reproduction, used by figures and claims."""

from collections.abc import Mapping, Sequence

import numpy as np

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.theory.regret import LEVEL_TOLERANCE
from bentham.experiments.variants import holdout
from bentham.reproduce.curves import Curves
from bentham.reproduce.plan import DEEPLEARNING, SYNTHETIC, Scale
from bentham.reproduce.problems import TheoryCell
from bentham.reproduce.runs import DRAWS, Cell, Result, TableCell
from bentham.sim.experiment import DEFAULT_HOLDOUT
from bentham.tables import Table
from bentham.tables.standin import STANDIN

CUTOFF = 0.01  # the instantaneous regret of Figure 5
# Names in figures and the report. DEEPLEARNING was reconstructed from several files.
TITLES = {STANDIN: "AZURE stand-in", DEEPLEARNING: "DEEPLEARNING (reconstructed)"}


class Evidence:
    """Results by cell, and the tables that they come from."""

    def __init__(
        self,
        results: Mapping[Cell, Sequence[Result]],
        tables: Mapping[str, Table],
        scale: Scale,
    ):
        self.results, self.tables, self.scale = results, tables, scale
        self._curves: dict[TableCell, Curves] = {}

    @property
    def has_deeplearning(self) -> bool:
        """Whether the DEEPLEARNING table was supplied."""
        return DEEPLEARNING in self.tables

    @property
    def compared(self) -> tuple[str, ...]:
        """The paper's two tables; only the first if DEEPLEARNING was not supplied."""
        return (STANDIN, DEEPLEARNING) if self.has_deeplearning else (STANDIN,)

    def curves(self, table: str, variant: str, devices: int) -> Curves:
        """Return the curves of a table's cell; they are cached."""
        cell = TableCell(table, variant, devices)
        if cell not in self._curves:
            self._curves[cell] = Curves.of(self.results[cell])
        return self._curves[cell]

    def cutoff_times(self, variant: str, devices: int) -> Vector:
        """Return when the mean regret of each run on the synthetic table fell to `CUTOFF`."""
        curves = self.curves(SYNTHETIC, variant, devices)
        reached = curves.values <= CUTOFF + LEVEL_TOLERANCE
        return np.asarray(curves.times[reached.argmax(axis=1)])

    def column(self, cells: Sequence[TheoryCell], key: str) -> Matrix:
        """Return one number of theory cells: a row per run, a column per cell."""
        return np.array([[result[key] for result in self.results[cell]] for cell in cells]).T

    def served(self, table: str) -> int:
        """Return the number of studies that are served after the history is drawn."""
        if table.startswith(DRAWS):
            return int(table.removeprefix(DRAWS)) - DEFAULT_HOLDOUT
        return len(self.tables[table].studies) - holdout(self.tables[table])
