"""A study being served, and what the studies of a block list between them."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentham.core.expected_costs import CostBelief
from bentham.core.problem import Study
from bentham.core.validation import Integers, Vector

if TYPE_CHECKING:
    from bentham.core.blocks import Block


class StudyState:
    """A study being served: what it lists, and the best it has so far."""

    __slots__ = (
        "block",
        "columns",
        "dataset",
        "given_costs",
        "incumbent",
        "incumbent_column",
        "name",
        "open_arms",
        "order",
        "served",
        "tenant",
        "weight",
    )

    def __init__(self, spec: Study, order: int, block: "Block", columns: Integers, costs: Vector):
        # Not the spec itself: its mapping of costs would be most of a large pool's memory.
        self.name = spec.name
        self.dataset = spec.dataset
        self.tenant = spec.tenant
        self.weight = spec.weight
        self.order = order
        self.block = block
        self.columns = columns  # in model order
        self.given_costs = costs  # NaN where the study does not say
        self.incumbent = spec.floor
        self.incumbent_column: int | None = None
        self.open_arms = 0
        self.served = True

    @property
    def costs(self) -> Vector:
        """What its models cost, as given or as predicted."""
        return self.block.cost[self.columns]

    def credit(self, column: int, score: float) -> None:
        """Take note of a score on one of the study's arms: x_i*(t) of Eq. (1)."""
        if self.incumbent_column is None or score > self.incumbent:
            self.incumbent, self.incumbent_column = score, column


@dataclass(slots=True)
class Listing:
    """What the studies of a block list of one dataset, and what is believed to cost how much."""

    dataset: str
    columns: Integers
    unsaid: bool  # whether the cost of any was not said
    cost_columns: Integers | None = None  # the same models, to the model of costs
    belief: CostBelief | None = None  # what is not yet computed


class Pairs(NamedTuple):
    """Every (study, arm) pair of a block, study after study."""

    column: Integers
    owner: Integers  # the study's place in the block
    start: dict[int, int]  # where a study's pairs begin, by the study's order

    @staticmethod
    def of(studies: list["StudyState"]) -> "Pairs":
        """The pairs of these studies."""
        lengths = [len(study.columns) for study in studies]
        starts = itertools.accumulate(lengths, initial=0)
        return Pairs(
            np.concatenate([study.columns for study in studies]),
            np.repeat(np.arange(len(studies)), lengths),
            {study.order: start for study, start in zip(studies, starts, strict=False)},
        )
