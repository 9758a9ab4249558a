"""Expected improvement of the studies of a block from its arms, per study and in total."""

import itertools
from typing import NamedTuple

import numpy as np

from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.state.score_belief import ScoreBelief
from bentham.core.state.study_state import StudyState


class Pairs(NamedTuple):
    """Every (study, arm) pair of a block, study after study."""

    column: Integers
    owner: Integers  # index of the study in the block
    start: dict[int, int]  # index of a study's first pair, by the study's order

    @staticmethod
    def of(studies: list[StudyState]) -> "Pairs":
        """Return the pairs of these studies."""
        lengths = [len(study.columns) for study in studies]
        starts = itertools.accumulate(lengths, initial=0)
        return Pairs(
            np.concatenate([study.columns for study in studies]),
            np.repeat(np.arange(len(studies)), lengths),
            {study.order: start for study, start in zip(studies, starts, strict=False)},
        )


class Gains:
    """The expected improvement of the studies of a block; computed on demand.

    Args:
        studies: The block's own list, which the block changes.
        belief: The block's own belief, which the block changes.
    """

    __slots__ = ("_belief", "_each", "_pairs", "_sole", "_studies", "_totals")

    def __init__(self, studies: list[StudyState], belief: ScoreBelief):
        self._studies, self._belief = studies, belief
        self._each: Vector = np.zeros(0)  # one entry per pair
        self._totals: Vector | None = None  # None: neither this nor `_each` is computed
        self._pairs: Pairs | None = None
        self._sole: StudyState | None = None
        self.relist()

    def copy(self, studies: list[StudyState], belief: ScoreBelief) -> "Gains":
        """Return the same gains for copies of the studies and of the belief."""
        made = Gains(studies, belief)
        # Shared, because they are never changed in place.
        made._each, made._totals, made._pairs = self._each, self._totals, self._pairs
        return made

    def __getstate__(self) -> tuple[object, ...]:
        # Snapshots omit the rest: it is recomputed on demand, to the same bit.
        return self._studies, self._belief, self._sole

    def __setstate__(self, kept: tuple[list[StudyState], ScoreBelief, StudyState | None]) -> None:
        self._studies, self._belief, self._sole = kept
        self._each, self._totals, self._pairs = np.zeros(0), None, None

    def relist(self) -> None:
        """Discard what depends on the studies and the number of arms."""
        self._pairs = self._totals = None
        # Fast path for the usual case: a single study that lists every arm, in column order.
        studies, prior = self._studies, self._belief.prior
        sole = len(studies) == 1 and len(studies[0].columns) == prior.size
        self._sole = studies[0] if sole and prior.in_model_order else None

    def discard(self) -> None:
        """Discard the computed improvements."""
        self._totals = None

    def of_arm(self, column: int) -> list[tuple[StudyState, float]]:
        """Return the weighted EI of each study that lists the arm: Eq. (3)."""
        self._compute()
        if self._sole:
            return [(self._sole, float(self._each[column]))]
        pairs = self._all_pairs()
        indices = np.flatnonzero(pairs.column == column)
        return [(self._studies[pairs.owner[i]], float(self._each[i])) for i in indices]

    def of_study(self, study: StudyState) -> Vector:
        """Return a study's weighted EI from each of its columns: Eq. (3)."""
        self._compute()
        start = 0 if self._sole else self._all_pairs().start[study.order]
        return self._each[start : start + len(study.columns)]

    def totals(self) -> Vector:
        """Return each arm's weighted EI, summed over the studies that list it: Eq. (4)."""
        self._compute()
        assert self._totals is not None
        return self._totals

    def sole_to_compute(self) -> StudyState | None:
        """Return the single study that lists every arm; None if there is none or it is computed."""
        return self._sole if self._totals is None else None

    def set_computed(self, improvement: Vector) -> None:
        """Set the unweighted EI of the single study that lists every arm, computed elsewhere."""
        assert self._sole is not None
        self._totals = self._each = self._sole.weight * improvement

    def studies_listing(self, column: int) -> list[StudyState]:
        """Return the studies that list an arm, in the order they were added."""
        if self._sole:
            return self._studies
        if not self._studies:
            return []
        pairs = self._all_pairs()
        return [self._studies[owner] for owner in pairs.owner[pairs.column == column]]

    def _compute(self) -> None:
        # Alg. 1 line 7, for this block only: no other block has changed.
        if self._totals is not None:
            return
        outlook = self._belief.outlook
        if self._sole:
            self.set_computed(outlook.improvement(self._sole.incumbent))
            return
        column, owner, _ = self._all_pairs()
        incumbent = np.array([study.incumbent for study in self._studies])[owner]
        weight = np.array([study.weight for study in self._studies])[owner]
        self._each = weight * outlook.improvement(incumbent, column)
        totals = np.bincount(column, self._each, minlength=self._belief.prior.size)
        self._totals = totals.astype(np.float64)

    def _all_pairs(self) -> Pairs:
        # On demand: often many studies are added before the pairs are needed.
        if self._pairs is None:
            self._pairs = Pairs.of(self._studies)
        return self._pairs
