"""The arm of highest gain per unit of cost, over all studies, whatever the gain is.

Each block enters its best few arms in a tournament; a decision looks anew at touched blocks only.
"""

import math
from collections.abc import Sequence

import numpy as np

from bentham.core.blocks import Block
from bentham.core.decision import RANKED
from bentham.core.policies.base import Option
from bentham.core.state import State
from bentham.core.together import TOGETHER, grouped, look_together
from bentham.core.tournament import Tournament
from bentham.core.validation import Vector

# (minus the rate, the lowest study that lists the arm, the model's rank, the arm's column):
# smaller is better, so that ties go to the lowest study, then the lowest model.
Entry = tuple[float, int, int, int]

_FARTHEST = 500.0
_NONE: list[Entry] = []


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
        awake = [block for block in self._stale.values() if block.has_candidates()]
        entries = dict.fromkeys(self._stale, _NONE)
        for start in range(0, len(awake), TOGETHER):
            some = awake[start : start + TOGETHER]
            look_together(some)
            for alike in grouped(some, _layout):
                found = self._look(state, alike)
                entries.update(zip((block.order for block in alike), found, strict=True))
        for order, own in entries.items():
            self._entries[order] = own
            self._tournament.update(order, own[0] if own else None)
        self._stale.clear()
        best: list[Entry] = []
        for order in self._tournament.smallest(RANKED):
            best += self._entries[order]
        best.sort()
        return [
            Option(-loss, state.by_order[study], column) for loss, study, _, column in best[:RANKED]
        ]

    def _look(self, state: State, blocks: Sequence[Block]) -> list[list[Entry]]:
        """The entries of blocks of one layout."""
        gains = np.array([self.gains(state, block) for block in blocks])
        costs = np.array([block.cost for block in blocks])
        exponent = state.cost_exponent
        # Powers of extreme costs are kept within what can be divided by.
        if exponent != 1.0:
            costs = np.exp(np.clip(exponent * np.log(costs), -_FARTHEST, _FARTHEST))
        candidate = np.array([block.candidate for block in blocks])
        losses = np.where(candidate, -gains / costs, np.inf)
        if _is_plain(blocks[0]):  # a stable sort is enough
            chosen = losses.argsort(axis=1, kind="stable")[:, :RANKED]
        else:
            ranks = [block.prior.model_rank for block in blocks]
            keys = zip(ranks, (block.first_study for block in blocks), losses, strict=True)
            chosen = np.array([np.lexsort(key)[:RANKED] for key in keys])
        least = np.take_along_axis(losses, chosen, axis=1).tolist()
        return [
            _entries(block, own, columns)
            for block, own, columns in zip(blocks, least, chosen.tolist(), strict=True)
        ]


def _layout(block: Block) -> tuple[int, bool]:
    return block.prior.size, _is_plain(block)


def _is_plain(block: Block) -> bool:
    return len(block.studies) == 1 and block.prior.in_model_order


def _entries(block: Block, losses: list[float], columns: list[int]) -> list[Entry]:
    study, rank = block.first_study, block.prior.model_rank
    return [
        (loss, int(study[column]), int(rank[column]), column)
        for loss, column in zip(losses, columns, strict=True)
        if loss < math.inf
    ]
