"""The arm of highest gain per unit of cost, over all studies, whatever the gain is.

Each block enters its best few arms in a tournament; a decision looks anew at touched blocks only.
"""

import numpy as np

from bentham.core.blocks import Block
from bentham.core.decision import RANKED
from bentham.core.policies.base import Option
from bentham.core.state import State
from bentham.core.together import look_together
from bentham.core.tournament import Tournament
from bentham.core.validation import Vector

# (minus the rate, the lowest study that lists the arm, the model's rank, the arm's column):
# smaller is better, so that ties go to the lowest study, then the lowest model.
Entry = tuple[float, int, int, int]

_FARTHEST = 500.0


class HighestRate:
    """Ranks every arm that may be run by `gains` per cost."""

    def __init__(self) -> None:
        self._stale: dict[int, Block] = {}
        self._entries: dict[int, list[Entry]] = {}  # by the block's order, best first
        self._tournament: Tournament[Entry] = Tournament()

    def gains(self, state: State, block: Block) -> Vector:
        """What each arm of the block would add, summed over the studies that list it."""
        raise NotImplementedError

    def touch(self, block: Block) -> None:
        """The block's entries are no longer right."""
        self._stale[block.order] = block

    def rank(self, state: State) -> list[Option]:
        """The arms of highest rate: the best few lie among the best few blocks."""
        # A block with nothing to decide rests: computing its gains would wake it.
        awake = {order for order, block in self._stale.items() if block.has_candidates()}
        look_together([self._stale[order] for order in self._stale if order in awake])
        for order, block in self._stale.items():
            entries = self._look(state, block) if order in awake else []
            self._entries[order] = entries
            self._tournament.update(order, entries[0] if entries else None)
        self._stale.clear()
        best: list[Entry] = []
        for order in self._tournament.smallest(RANKED):
            best += self._entries[order]
        best.sort()
        return [
            Option(-loss, state.by_order[study], column) for loss, study, _, column in best[:RANKED]
        ]

    def _look(self, state: State, block: Block) -> list[Entry]:
        exponent = state.cost_exponent
        # Powers of extreme costs are kept within what can be divided by.
        costs = block.cost
        if exponent != 1.0:
            costs = np.exp(np.clip(exponent * np.log(costs), -_FARTHEST, _FARTHEST))
        return _entries(block, self.gains(state, block), costs)


def _entries(block: Block, gains: Vector, costs: Vector) -> list[Entry]:
    losses = np.where(block.candidate, -gains / costs, np.inf)
    if len(block.studies) == 1 and block.prior.in_model_order:  # a stable sort is enough
        chosen = losses.argsort(kind="stable")[:RANKED]
    else:
        chosen = np.lexsort((block.prior.model_rank, block.first_study, losses))[:RANKED]
    entries = zip(
        losses[chosen].tolist(),
        block.first_study[chosen].tolist(),
        block.prior.model_rank[chosen].tolist(),
        chosen.tolist(),
        strict=True,
    )
    return [entry for entry in entries if entry[0] < np.inf]
