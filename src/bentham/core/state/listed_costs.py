"""Costs of the arms of a block: declared by studies, else predicted.

name      shape    meaning
declared  (arms,)  cost declared by a study, else NaN
expected  (arms,)  c(x), declared or predicted; NaN if no study has ever listed the arm

Predictions are computed on demand, from the belief at the last event.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.costs.predict import CostBelief, CostQuestion, expected_costs
from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.state.study_state import StudyState


@dataclass(slots=True)
class Listing:
    """The listed arms of one dataset in a block, and the belief about their costs."""

    dataset: str
    columns: Integers
    undeclared: bool  # whether any of the arms has no declared cost
    cost_columns: Integers | None = None  # columns of the same models in the cost model
    belief: CostBelief | None = None  # None: the expected costs are up to date

    def copy(self) -> "Listing":
        """Return an independent copy."""
        return Listing(self.dataset, self.columns, self.undeclared, self.cost_columns, self.belief)


class ListedCosts:
    """The costs of the arms of a block, and a listing for each of its datasets."""

    __slots__ = ("_expected", "declared", "listings")

    def __init__(self, size: int):
        self.declared: Vector = np.full(size, np.nan)
        self._expected: Vector = np.full(size, np.nan)
        self.listings: list[Listing] = []

    def copy(self) -> "ListedCosts":
        """Return an independent copy, after computing the expected costs."""
        made = ListedCosts.__new__(ListedCosts)
        made._expected, made.declared = self.expected.copy(), self.declared.copy()
        made.listings = [listing.copy() for listing in self.listings]
        return made

    @property
    def expected(self) -> Vector:
        """Expected cost of each arm, computed if necessary."""
        pending = self.questions()
        if pending:
            answers = expected_costs([question for _, question in pending])
            for (listing, _), costs in zip(pending, answers, strict=True):
                self.set_expected(listing, costs)
        return self._expected

    def questions(self) -> list[tuple[Listing, CostQuestion]]:
        """Return the listings whose expected costs must still be computed."""
        return [
            (
                listing,
                CostQuestion(listing.belief, listing.cost_columns, self.declared[listing.columns]),
            )
            for listing in self.listings
            if listing.belief is not None
        ]

    def set_expected(self, listing: Listing, costs: Vector) -> None:
        """Set the expected costs of a listing."""
        self._expected[listing.columns] = costs
        listing.belief = None

    def widen(self, added: int) -> None:
        """Append arms of unknown cost."""
        self._expected = np.pad(self._expected, (0, added), constant_values=np.nan)
        self.declared = np.pad(self.declared, (0, added), constant_values=np.nan)

    def add(self, study: StudyState, listers: Integers) -> None:
        """Add a study's costs; `listers` is the number of other studies that list each arm."""
        columns, expected = study.columns, self.expected  # pending predictions come first
        before = np.where(listers > 0, self.declared[columns], np.nan)
        self.declared[columns] = np.where(
            np.isnan(study.declared_costs), before, study.declared_costs
        )
        expected[columns] = self.declared[columns]

    def relist(self, studies: Sequence[StudyState]) -> None:
        """Rebuild the listings from these studies; expected costs stay until the belief changes."""
        _ = self.expected  # computes what the old listings still need
        listed: dict[str, list[Integers]] = {}
        for study in studies:
            listed.setdefault(study.dataset, []).append(study.columns)
        self.listings = []
        for dataset, by_study in listed.items():
            columns = by_study[0] if len(by_study) == 1 else np.unique(np.concatenate(by_study))
            undeclared = bool(np.isnan(self.declared[columns]).any())
            self.listings.append(Listing(dataset, columns, undeclared))
