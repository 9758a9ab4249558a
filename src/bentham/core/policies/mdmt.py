"""MM-GP-EI (Alg. 1): the arm of highest expected improvement per unit of cost, over all studies."""

import numpy as np

from bentham.core.blocks import Block
from bentham.core.policies.base import Option
from bentham.core.state import State
from bentham.core.tournament import Tournament

# (minus the EI rate, the lowest study that lists the arm, the model's rank, the arm's column):
# smaller is better, so that ties go to the lowest study, then the lowest model.
Entry = tuple[float, int, int, int]


class Mdmt:
    """Eq. (6). Each block enters its best arms in a tournament; only touched blocks enter anew."""

    name = "mdmt"

    def __init__(self) -> None:
        self._stale: dict[int, Block] = {}
        self._tournament: Tournament[tuple[Entry, ...]] = Tournament()

    def touch(self, block: Block) -> None:
        """The block's entries are no longer right."""
        self._stale[block.order] = block

    def rank(self, state: State, count: int) -> list[Option]:
        """The arms of highest EI rate: the best few lie among the best few blocks."""
        for order, block in self._stale.items():
            self._tournament.update(order, _entries(block, count))
        self._stale.clear()
        best = self._tournament.smallest(count)
        entries = sorted(entry for entries in best for entry in entries)[:count]
        return [
            Option(-rate, state.by_order[study], column) for rate, study, _, column in entries
        ]


def _entries(block: Block, count: int) -> tuple[Entry, ...] | None:
    losses = np.where(block.candidate, -block.totals() / block.cost, np.inf)  # Eq. (5), negated
    if len(block.studies) == 1 and block.prior.in_model_order:  # a stable sort is enough
        chosen = losses.argsort(kind="stable")[:count]
    else:
        chosen = np.lexsort((block.prior.model_rank, block.first_study, losses))[:count]
    entries = zip(
        losses[chosen].tolist(),
        block.first_study[chosen].tolist(),
        block.prior.model_rank[chosen].tolist(),
        chosen.tolist(),
        strict=True,
    )
    return tuple(entry for entry in entries if entry[0] < np.inf) or None
