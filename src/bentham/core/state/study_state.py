"""A study being served."""

from typing import TYPE_CHECKING

from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.problem.study import StudySpec

if TYPE_CHECKING:
    from bentham.core.state.blocks import Block


class StudyState:
    """A study being served: the arms it lists, and its incumbent."""

    __slots__ = (
        "block",
        "columns",
        "dataset",
        "declared_costs",
        "floor",
        "gain_share",
        "incumbent",
        "incumbent_column",
        "name",
        "open_arms",
        "order",
        "served",
        "tenant",
        "weight",
    )

    def __init__(
        self, spec: StudySpec, order: int, block: "Block", columns: Integers, costs: Vector
    ):
        # The spec is not kept: its mapping of costs would take most of a large pool's memory.
        self.name = spec.name
        self.dataset = spec.dataset
        self.tenant = spec.tenant
        self.weight = spec.weight
        self.order = order
        self.block = block
        self.columns = columns  # in model order
        self.declared_costs = costs  # NaN where the study declares none
        self.floor = self.incumbent = spec.floor
        self.gain_share = spec.gain_share
        self.incumbent_column: int | None = None
        self.open_arms = 0
        self.served = True

    def copy(self, block: "Block") -> "StudyState":
        """Return an independent copy that belongs to a copy of its block."""
        made = StudyState.__new__(StudyState)
        for name in StudyState.__slots__:
            setattr(made, name, getattr(self, name))
        made.block = block
        return made

    @property
    def costs(self) -> Vector:
        """Expected costs of its models, declared or predicted."""
        return self.block.costs.expected[self.columns]

    def credit(self, column: int, score: float) -> None:
        """Update the incumbent, x_i*(t) of Eq. (1), with the score of one of the study's arms."""
        if self.incumbent_column is None or score > self.incumbent:
            self.incumbent, self.incumbent_column = score, column
