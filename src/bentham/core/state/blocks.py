"""A block: correlated arms, and the studies that list them.

It keeps its parts consistent with each other:

part    module        content
arms    arms          status of the arms, and the number of studies that list each
belief  score_belief  prior, observed scores and posterior
costs   listed_costs  costs of the arms, declared or predicted
gains   gains         expected improvement, per study and in total
"""

import numpy as np

from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Booleans
from bentham.core.problem.stop_rules import Prospect
from bentham.core.state.arms import Arms
from bentham.core.state.gains import Gains
from bentham.core.state.listed_costs import ListedCosts
from bentham.core.state.score_belief import ScoreBelief
from bentham.core.state.study_state import StudyState


class Block:
    """Correlated arms, the beliefs about them, and the studies that list them."""

    __slots__ = (
        "arms",
        "belief",
        "changes",
        "costs",
        "gains",
        "order",
        "studies",
        "tenant",
    )

    def __init__(self, order: int, prior: BlockPrior, tenant: str = ""):
        self.order = order
        self.tenant = tenant  # only its studies may list the arms
        self.changes = 0  # how often the belief about its scores has changed
        self.studies: list[StudyState] = []
        self.arms = Arms(prior.size)
        self.belief = ScoreBelief(prior)
        self.costs = ListedCosts(prior.size)
        self.gains = Gains(self.studies, self.belief)

    def copy(self) -> "Block":
        """Return an independent copy, with copies of the studies."""
        made = Block.__new__(Block)
        made.order, made.tenant, made.changes = self.order, self.tenant, self.changes
        made.studies = [study.copy(made) for study in self.studies]
        made.arms, made.belief, made.costs = self.arms.copy(), self.belief.copy(), self.costs.copy()
        made.gains = self.gains.copy(made.studies, made.belief)
        return made

    @property
    def prior(self) -> BlockPrior:
        """Current prior of its scores."""
        return self.belief.prior

    def adopt(self, prior: BlockPrior) -> None:
        """Use another prior, over the same arms and perhaps more; observations are kept."""
        if prior is self.prior:
            return
        added = prior.size - self.prior.size
        self.changes += 1
        self.belief.adopt(prior)
        self.gains.discard()
        if added:
            self.arms.widen(added)
            self.costs.widen(added)
            self.gains.relist()

    def add(self, study: StudyState) -> None:
        """Start to serve the latest study; scores observed already count for it."""
        self.studies.append(study)
        self.costs.add(study, self.arms.listers[study.columns])
        self.arms.add(study)
        study.open_arms = int(self.arms.candidate[study.columns].sum())
        for column in self.belief.observed:
            if column in study.columns:
                study.credit(column, float(self.belief.score[column]))
        self._relist()

    def remove(self, study: StudyState) -> None:
        """Stop serving a study."""
        self.studies.remove(study)
        study.served, study.open_arms = False, 0
        self.arms.remove(study, self.studies)
        self._relist()
        self.release_if_done()

    def set_weight(self, study: StudyState, weight: float) -> None:
        """Set the weight of a study."""
        study.weight = weight
        self.gains.discard()

    def release_if_done(self) -> None:
        """Free the posterior if there are no candidates; it is recomputed if needed."""
        if not self.has_candidates():
            self.belief.release()

    def studies_listing(self, column: int) -> list[StudyState]:
        """Return the studies that list an arm, in the order they were added."""
        return self.gains.studies_listing(column)

    def has_candidates(self) -> bool:
        """Return whether any arm may be picked."""
        return any(study.open_arms for study in self.studies)

    def prospect(self, study: StudyState) -> Prospect:
        """Return what the untried arms are expected to add to the study's best score."""
        gains = self.gains.of_study(study)[self.arms.candidate[study.columns]] / study.weight
        gained = 0.0 if study.incumbent_column is None else study.incumbent - study.floor
        return Prospect(float(gains.max(initial=0.0)), float(gains.sum()), gained)

    def satisfied(self, study: StudyState) -> bool:
        """Return whether the study's untried arms are not worth running, by its `gain_share`."""
        if not study.gain_share or not study.open_arms or study.incumbent_column is None:
            return False
        return self.prospect(study).negligible(study.gain_share)

    def worthwhile(self) -> Booleans:
        """Return which arms may be picked: those of satisfied studies alone may not."""
        served = [study for study in self.studies if not self.satisfied(study)]
        if len(served) == len(self.studies):
            return self.arms.candidate
        listed = np.zeros(len(self.arms.candidate), dtype=bool)
        for study in served:
            listed[study.columns] = True
        return self.arms.candidate & listed

    def observe(self, column: int, score: float) -> None:
        """Condition on an arm's score, and credit the studies that list the arm."""
        self.changes += 1
        self.arms.observe(column)
        self.belief.observe(column, score)
        for study in self.studies_listing(column):
            study.credit(column, score)
        self.gains.discard()

    def start(self, column: int, studies: list[StudyState]) -> None:
        """Mark a candidate as running; `studies` are those that list it."""
        self.arms.start(column)
        for study in studies:
            study.open_arms -= 1
        self.release_if_done()

    def restore(self, column: int, studies: list[StudyState]) -> None:
        """Mark a running arm as untried; `studies` are those that still list it."""
        self.arms.restore(column, listed=bool(studies))
        for study in studies:
            study.open_arms += 1

    def fail(self, column: int) -> None:
        """Mark a running arm as failed: it is not tried again."""
        self.changes += 1
        self.arms.fail(column)

    def _relist(self) -> None:
        self.costs.relist(self.studies)
        self.gains.relist()
