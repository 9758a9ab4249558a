"""A block: correlated arms, and the studies that list them.

It keeps its parts in step, and each part answers for itself:

part    module        what it knows
arms    arms          which arms are tried, and how many studies list them
belief  score_belief  the prior, the scores observed, and what they make of the others
costs   listed_costs  what arms cost, as said or as predicted
gains   gains         expected improvement, study by study and in sum
"""

from bentham.core.gaussian.prior import BlockPrior
from bentham.core.state.arms import Arms
from bentham.core.state.gains import Gains
from bentham.core.state.listed_costs import ListedCosts
from bentham.core.state.score_belief import ScoreBelief
from bentham.core.state.study_state import StudyState


class Block:
    """Correlated arms, what is believed of them, and the studies that list them."""

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
        self.tenant = tenant  # whose studies may list its arms
        self.changes = 0  # how often something else was believed of its scores
        self.studies: list[StudyState] = []
        self.arms = Arms(prior.size)
        self.belief = ScoreBelief(prior)
        self.costs = ListedCosts(prior.size)
        self.gains = Gains(self.studies, self.belief)

    def copy(self) -> "Block":
        """The same block, with studies of its own, to be changed by itself."""
        made = Block.__new__(Block)
        made.order, made.tenant, made.changes = self.order, self.tenant, self.changes
        made.studies = [study.copy(made) for study in self.studies]
        made.arms, made.belief, made.costs = self.arms.copy(), self.belief.copy(), self.costs.copy()
        made.gains = self.gains.copy(made.studies, made.belief)
        return made

    @property
    def prior(self) -> BlockPrior:
        """The prior of its scores."""
        return self.belief.prior

    def adopt(self, prior: BlockPrior) -> None:
        """Believe another prior, of the same arms and perhaps more; observations are kept."""
        if prior is self.prior:
            return
        more = prior.size - self.prior.size
        self.changes += 1
        self.belief.adopt(prior)
        self.gains.discard()
        if more:
            self.arms.widen(more)
            self.costs.widen(more)
            self.gains.list_again()

    def add(self, study: StudyState) -> None:
        """Begin to serve a study, the youngest; what is observed already counts for it."""
        self.studies.append(study)
        self.costs.add(study, self.arms.listers[study.columns])
        self.arms.add(study)
        study.open_arms = int(self.arms.candidate[study.columns].sum())
        for column in self.belief.observed:
            if column in study.columns:
                study.credit(column, float(self.belief.score[column]))
        self._list_again()

    def remove(self, study: StudyState) -> None:
        """Stop serving a study."""
        self.studies.remove(study)
        study.served, study.open_arms = False, 0
        self.arms.remove(study, self.studies)
        self._list_again()
        self.rest()

    def weigh(self, study: StudyState, weight: float) -> None:
        """Let a study count for more or less."""
        study.weight = weight
        self.gains.discard()

    def rest(self) -> None:
        """With nothing left to decide, let go of the posterior; it can be made again."""
        if not self.has_candidates():
            self.belief.release()

    def studies_listing(self, column: int) -> list[StudyState]:
        """The studies that list an arm, lowest first."""
        return self.gains.studies_listing(column)

    def has_candidates(self) -> bool:
        """Whether there is anything left to pick."""
        return any(study.open_arms for study in self.studies)

    def observe(self, column: int, score: float) -> None:
        """An arm's score is known: condition the posterior, credit the studies that list it."""
        self.changes += 1
        self.arms.observe(column)
        self.belief.observe(column, score)
        for study in self.studies_listing(column):
            study.credit(column, score)
        self.gains.discard()

    def start(self, column: int, listing: list[StudyState]) -> None:
        """A candidate is run from now on; `listing` are the studies that list it."""
        self.arms.start(column)
        for study in listing:
            study.open_arms -= 1
        self.rest()

    def restore(self, column: int, listing: list[StudyState]) -> None:
        """A running arm may be picked again, if anybody still wants it."""
        self.arms.restore(column, listed=bool(listing))
        for study in listing:
            study.open_arms += 1

    def fail(self, column: int) -> None:
        """A running arm will not be tried again."""
        self.changes += 1
        self.arms.fail(column)

    def _list_again(self) -> None:
        self.costs.list_again(self.studies)
        self.gains.list_again()
