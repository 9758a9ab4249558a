"""MM-GP-EI (Alg. 1): the arm of highest expected improvement per unit of cost, over all studies."""

from bentham.core.gaussian.validation import Vector
from bentham.core.policies.highest_rate import HighestRate
from bentham.core.state.blocks import Block
from bentham.core.state.state import State


class Mdmt(HighestRate):
    """Picks the arm of highest EI rate among those not selected before: Eq. (6)."""

    name = "mdmt"

    def gains(self, state: State, block: Block) -> Vector:  # noqa: ARG002
        """Return Eq. (4)."""
        return block.gains.totals()
