"""The live part of a block: which of its arms are tried, what they scored, whom they would help.

name        shape        meaning
status      (arms,)      untried, running, observed or failed
cost        (arms,)      c(x); NaN where no study lists the arm
score       (arms,)      z(x) where observed, else NaN
candidate   (arms,)      listed by a study and untried: what may be picked
listing     (pairs,)     every (study, arm) pair of the block, study after study
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from bentham.core.acquisition import expected_improvement
from bentham.core.posterior import Posterior
from bentham.core.prior import BlockPrior
from bentham.core.problem import Study
from bentham.core.validation import Vector

Integers = npt.NDArray[np.int64]


class Status(IntEnum):
    """Where an arm stands."""

    UNTRIED = 0
    RUNNING = 1
    OBSERVED = 2
    FAILED = 3


class StudyState:
    """A study being served: what it lists, and the best it has so far."""

    __slots__ = (
        "block",
        "columns",
        "costs",
        "dataset",
        "incumbent",
        "incumbent_column",
        "name",
        "open_arms",
        "order",
        "weight",
    )

    def __init__(self, spec: Study, order: int, block: "Block", columns: Integers, costs: Vector):
        # Not the spec itself: its mapping of costs would be most of a large pool's memory.
        self.name = spec.name
        self.dataset = spec.dataset
        self.weight = spec.weight
        self.order = order
        self.block = block
        self.columns = columns  # in model order
        self.costs = costs
        self.incumbent = spec.floor
        self.incumbent_column: int | None = None
        self.open_arms = 0

    def credit(self, column: int, score: float) -> None:
        """Take note of a score on one of the study's arms: x_i*(t) of Eq. (1)."""
        if self.incumbent_column is None or score > self.incumbent:
            self.incumbent, self.incumbent_column = score, column


class Block:
    """Correlated arms, their posterior, and the studies that list them."""

    __slots__ = (
        "_gains",
        "_listing",
        "_observed",
        "_owner",
        "_posterior",
        "_sole",
        "_totals",
        "candidate",
        "cost",
        "first_study",
        "order",
        "prior",
        "score",
        "status",
        "studies",
    )

    def __init__(self, order: int, prior: BlockPrior):
        self.order = order
        self.prior = prior
        self.studies: list[StudyState] = []
        self.status = np.zeros(prior.size, dtype=np.int8)
        self.cost: Vector = np.full(prior.size, np.nan)
        self.score: Vector = np.full(prior.size, np.nan)
        self.candidate = np.zeros(prior.size, dtype=bool)
        self.first_study: Integers = np.zeros(prior.size, dtype=np.int64)
        self._observed: list[int] = []
        self._posterior: Posterior | None = None
        self._totals: Vector | None = None
        self._gains: Vector = np.zeros(0)
        self._relist()

    @property
    def posterior(self) -> Posterior:
        """The posterior, conditioned again in the old order if the block had been at rest."""
        if self._posterior is None:
            self._posterior = Posterior(self.prior)
            for column in self._observed:
                self._posterior.observe(column, float(self.score[column]))
        return self._posterior

    def add(self, study: StudyState) -> None:
        """Begin to serve a study; what is observed already counts for it."""
        self.studies.append(study)
        self.cost[study.columns] = study.costs
        for column in self._observed:
            if column in study.columns:
                study.credit(column, float(self.score[column]))
        self._relist()

    def remove(self, study: StudyState) -> None:
        """Stop serving a study."""
        self.studies.remove(study)
        self._relist()
        self.rest()

    def rest(self) -> None:
        """With nothing left to decide, let go of the posterior; it can be made again."""
        if not self.candidate.any():
            self._posterior = None

    def listers(self, column: int) -> list[StudyState]:
        """The studies that list an arm, lowest first."""
        if self._sole:
            return self.studies
        return [self.studies[owner] for owner in self._owner[self._listing == column]]

    def observe(self, column: int, score: float) -> None:
        """An arm's score is known: condition the posterior, credit the studies that list it."""
        self.status[column] = Status.OBSERVED
        self.score[column] = score
        if self._posterior is not None:
            self._posterior.observe(column, score)
        self._observed.append(column)
        for study in self.listers(column):
            study.credit(column, score)
        self._totals = None

    def start(self, column: int, listers: list[StudyState]) -> None:
        """A candidate is run from now on."""
        self.status[column] = Status.RUNNING
        self.candidate[column] = False
        for study in listers:
            study.open_arms -= 1
        self.rest()

    def restore(self, column: int, listers: list[StudyState]) -> None:
        """A running arm may be picked again, if anybody still wants it."""
        self.status[column] = Status.UNTRIED
        self.candidate[column] = bool(listers)
        for study in listers:
            study.open_arms += 1

    def gains(self, column: int) -> list[tuple[StudyState, float]]:
        """Each listing study's weighted expected improvement from the arm: Eq. (3)."""
        self._refresh()
        if self._sole:
            return [(self._sole, float(self._gains[column]))]
        places = np.flatnonzero(self._listing == column)
        return [(self.studies[self._owner[place]], float(self._gains[place])) for place in places]

    def study_gains(self, study: StudyState) -> Vector:
        """One study's weighted expected improvement from each of its columns: Eq. (3)."""
        self._refresh()
        start = 0
        for other in self.studies:
            if other is study:
                break
            start += len(other.columns)
        return self._gains[start : start + len(study.columns)]

    def totals(self) -> Vector:
        """Each arm's expected improvement summed over the studies that list it: Eq. (4)."""
        self._refresh()
        assert self._totals is not None
        return self._totals

    def _refresh(self) -> None:
        # Alg. 1 line 7, for the arms of this block only: nothing else has changed.
        if self._totals is not None:
            return
        mean, sigma = self.posterior.mean, np.sqrt(self.posterior.variance)
        if self._sole:
            gains = expected_improvement(mean, sigma, self._sole.incumbent)
            self._totals = self._gains = self._sole.weight * gains
            return
        incumbent = np.array([study.incumbent for study in self.studies])[self._owner]
        weight = np.array([study.weight for study in self.studies])[self._owner]
        self._gains = weight * expected_improvement(
            mean[self._listing], sigma[self._listing], incumbent
        )
        totals = np.bincount(self._listing, self._gains, minlength=self.prior.size)
        self._totals = totals.astype(np.float64)

    def _relist(self) -> None:
        columns = [study.columns for study in self.studies]
        self._listing: Integers = np.concatenate([np.zeros(0, dtype=np.int64), *columns])
        lengths = [len(study.columns) for study in self.studies]
        self._owner: Integers = np.repeat(np.arange(len(self.studies)), lengths)
        # The usual case, worth a short cut: one study, which lists every arm, in column order.
        sole = len(lengths) == 1 and lengths[0] == self.prior.size and self.prior.in_model_order
        self._sole = self.studies[0] if sole else None
        self._totals = None
        listed = np.zeros(self.prior.size, dtype=bool)
        listed[self._listing] = True
        self.candidate = listed & (self.status == Status.UNTRIED)
        for study in reversed(self.studies):
            self.first_study[study.columns] = study.order
        for study in self.studies:
            study.open_arms = int(self.candidate[study.columns].sum())
