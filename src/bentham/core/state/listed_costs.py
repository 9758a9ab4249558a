"""What the arms of a block cost: what studies say, and what is expected where they do not.

name      shape    meaning
said      (arms,)  what a study said the arm costs, else NaN
expected  (arms,)  c(x), as said or as predicted; NaN where no study ever listed the arm

Predictions are computed when somebody looks, from what was believed at the last event.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.costs.predict import CostBelief, CostQuestion, expected_costs
from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.state.study_state import StudyState


@dataclass(slots=True)
class Listing:
    """What the studies of a block list of one dataset, and what is believed to cost how much."""

    dataset: str
    columns: Integers
    unsaid: bool  # whether the cost of any was not said
    cost_columns: Integers | None = None  # the same models, to the model of costs
    belief: CostBelief | None = None  # what is not yet computed

    def copy(self) -> "Listing":
        """The same, to be changed by itself."""
        return Listing(self.dataset, self.columns, self.unsaid, self.cost_columns, self.belief)


class ListedCosts:
    """The costs of the arms of a block, and what is listed of each dataset."""

    __slots__ = ("_expected", "listings", "said")

    def __init__(self, size: int):
        self.said: Vector = np.full(size, np.nan)
        self._expected: Vector = np.full(size, np.nan)
        self.listings: list[Listing] = []

    def copy(self) -> "ListedCosts":
        """The same costs, to be changed by themselves; what is expected now is computed."""
        made = ListedCosts.__new__(ListedCosts)
        made._expected, made.said = self.expected.copy(), self.said.copy()
        made.listings = [listing.copy() for listing in self.listings]
        return made

    @property
    def expected(self) -> Vector:
        """What each arm costs."""
        asked = self.questions()
        if asked:
            answers = expected_costs([question for _, question in asked])
            for (listing, _), costs in zip(asked, answers, strict=True):
                self.answer(listing, costs)
        return self._expected

    def questions(self) -> list[tuple[Listing, CostQuestion]]:
        """What must be computed before costs can be looked at."""
        return [
            (
                listing,
                CostQuestion(listing.belief, listing.cost_columns, self.said[listing.columns]),
            )
            for listing in self.listings
            if listing.belief is not None
        ]

    def answer(self, listing: Listing, costs: Vector) -> None:
        """The costs of a listing are computed."""
        self._expected[listing.columns] = costs
        listing.belief = None

    def widen(self, more: int) -> None:
        """There are so many arms more, of which nobody said anything."""
        self._expected = np.pad(self._expected, (0, more), constant_values=np.nan)
        self.said = np.pad(self.said, (0, more), constant_values=np.nan)

    def add(self, study: StudyState, listers: Integers) -> None:
        """A study says what its arms cost; `listers` counts the others that list each of them."""
        columns, expected = study.columns, self.expected  # what was expected until now
        before = np.where(listers > 0, self.said[columns], np.nan)
        self.said[columns] = np.where(np.isnan(study.given_costs), before, study.given_costs)
        expected[columns] = self.said[columns]

    def list_again(self, studies: Sequence[StudyState]) -> None:
        """Other studies list arms now; what is expected stays until something else is believed."""
        _ = self.expected  # what was asked by the listings before
        listed: dict[str, list[Integers]] = {}
        for study in studies:
            listed.setdefault(study.dataset, []).append(study.columns)
        self.listings = []
        for dataset, several in listed.items():
            columns = several[0] if len(several) == 1 else np.unique(np.concatenate(several))
            unsaid = bool(np.isnan(self.said[columns]).any())
            self.listings.append(Listing(dataset, columns, unsaid))
