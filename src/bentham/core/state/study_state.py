"""A study being served."""

from typing import TYPE_CHECKING

from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.problem.study import Study

if TYPE_CHECKING:
    from bentham.core.state.blocks import Block


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

    def copy(self, block: "Block") -> "StudyState":
        """The same study, to be served by itself, of a copy of its block."""
        made = StudyState.__new__(StudyState)
        for name in StudyState.__slots__:
            setattr(made, name, getattr(self, name))
        made.block = block
        return made

    @property
    def costs(self) -> Vector:
        """What its models cost, as given or as predicted."""
        return self.block.costs.expected[self.columns]

    def credit(self, column: int, score: float) -> None:
        """Take note of a score on one of the study's arms: x_i*(t) of Eq. (1)."""
        if self.incumbent_column is None or score > self.incumbent:
            self.incumbent, self.incumbent_column = score, column
