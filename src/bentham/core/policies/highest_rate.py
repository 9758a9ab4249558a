"""Pick the arm of highest gain per unit of cost over all studies; subclasses define the gain.

Each block enters its best arms in a tournament of its tenant, and each tenant its best arm in a
tournament of tenants. So a decision evaluates touched blocks only, and skips a barred tenant in
one step.
"""

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.gaussian.warp import Array
from bentham.core.policies.base import Option, rank_within
from bentham.core.policies.batch import BATCH, compute_together, grouped
from bentham.core.policies.tournament import Tournament
from bentham.core.problem.decision import RANKED
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState

# (minus the rate, the first study that lists the arm, the model's rank, the arm's column):
# smaller is better, so that ties go to the study added first, then to the earlier model.
Entry = tuple[float, int, int, int]

_FARTHEST = 500.0
_NONE: list[Entry] = []


class Ranking:
    """The best arms of every block, and their ranking across blocks and tenants."""

    def __init__(self) -> None:
        self._entries: dict[int, list[Entry]] = {}  # by the block's order, best first
        self._fields: list[_Field] = []  # one per tenant, in order of arrival
        self._tenants: Tournament[Entry] = Tournament()
        self._numbers: dict[str, int] = {}

    def enter(self, ranked: Iterable[tuple[Block, list[Entry]]]) -> None:
        """Replace the best arms of blocks."""
        for number in dict.fromkeys([self._place(*one) for one in ranked]):
            best = self._fields[number].best(1)
            self._tenants.update(number, self._entries[best[0]][0] if best else None)

    def best(self, barred: Container[str]) -> list[Entry]:
        """Return the RANKED best entries: they are in the best blocks of the best tenants."""
        found: list[Entry] = []
        tenants = 0
        for number in self._tenants.ascending():
            field = self._fields[number]
            if field.tenant not in barred:
                for order in field.best(RANKED):
                    found += self._entries[order]
                tenants += 1
                if tenants == RANKED:
                    break
        found.sort()
        return found[:RANKED]

    def _place(self, block: Block, entries: list[Entry]) -> int:
        number = self._numbers.setdefault(block.tenant, len(self._fields))
        if number == len(self._fields):
            self._fields.append(_Field(block.tenant))
        self._entries[block.order] = entries
        self._fields[number].update(block.order, entries[0] if entries else None)
        return number


class _Field:
    """The blocks of one tenant, with their own numbers: tournaments use memory for each number."""

    def __init__(self, tenant: str):
        self.tenant = tenant
        self._tournament: Tournament[Entry] = Tournament()
        self._numbers: dict[int, int] = {}
        self._orders: list[int] = []

    def update(self, order: int, entry: Entry | None) -> None:
        """Set the best arm of a block."""
        number = self._numbers.setdefault(order, len(self._orders))
        if number == len(self._orders):
            self._orders.append(order)
        self._tournament.update(number, entry)

    def best(self, count: int) -> list[int]:
        """Return the orders of the best blocks."""
        return [self._orders[number] for number in self._tournament.smallest(count)]


class HighestRate:
    """Ranks every arm that may run by `gains` per cost."""

    def __init__(self) -> None:
        self._stale: dict[int, Block] = {}
        self._ranking = Ranking()
        # The ranking with all weights 1; maintained once a study has another weight.
        self._unweighted: Ranking | None = None
        self._seen: dict[int, Block] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Caches are not saved; they are computed again when the blocks are touched.
        caches = {"_stale": {}, "_ranking": Ranking(), "_unweighted": None, "_seen": {}}
        return {**self.__dict__, **caches}

    def gains(self, state: State, block: Block) -> Vector:
        """Return the gain of each arm of the block, summed over the studies that list it."""
        raise NotImplementedError

    def unweighted_gains(self, state: State, block: Block) -> Vector:  # noqa: ARG002
        """Return the gains with all weights 1; not divided by weights, so that ties stay ties."""
        totals = np.zeros(block.prior.size)
        for study in block.studies:
            gains = block.belief.outlook.improvement(study.incumbent, study.columns)
            totals[study.columns] += gains
        return totals

    def touch(self, block: Block) -> None:
        """Mark the block's entries as stale."""
        self._stale[block.order] = self._seen[block.order] = block

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """Return the arms of highest rate."""
        self._refresh(state)
        return [_option(state, entry) for entry in self._ranking.best(barred)]

    def rank_study(self, state: State, study: StudyState) -> list[Option]:
        """Return a study's arms of highest rate."""
        block = study.block
        rates = self.gains(state, block) / _powers(block.costs.expected, state.cost_exponent)
        return rank_within(study, rates[study.columns])

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:
        """Return the arm that would rank first if all weights were 1; None if they always were."""
        self._refresh(state)
        if self._unweighted is None:
            return None
        best = self._unweighted.best(barred)
        return _option(state, best[0]) if best else None

    def _refresh(self, state: State) -> None:
        """Update the rankings with the stale blocks."""
        ranked = self._best_arms(state, list(self._stale.values()))
        self._ranking.enter(ranked)
        unweighted = self._unweighted
        if unweighted is None and any(
            study.weight != 1.0 for block in self._stale.values() for study in block.studies
        ):
            unweighted = Ranking()
            ranked = self._best_arms(state, list(self._seen.values()))
        if unweighted is not None:
            unweighted.enter(
                [(block, self._best_unweighted(state, block, own)) for block, own in ranked]
            )
        # Only now: if anything above raises, the blocks stay marked as stale.
        self._unweighted, self._stale = unweighted, {}

    def _best_arms(self, state: State, blocks: list[Block]) -> list[tuple[Block, list[Entry]]]:
        """Return the best arms of each block."""
        # Skip blocks without candidates: their posteriors are released and should stay so.
        active = [block for block in blocks if block.has_candidates()]
        entries = dict.fromkeys([block.order for block in blocks], _NONE)
        for start in range(0, len(active), BATCH):
            some = active[start : start + BATCH]
            compute_together(some)
            for group in grouped(some, _layout):
                gains = np.array([self.gains(state, block) for block in group])
                found = _best_few(group, gains, state.cost_exponent)
                entries.update(zip((block.order for block in group), found, strict=True))
        return [(block, entries[block.order]) for block in blocks]

    def _best_unweighted(self, state: State, block: Block, entries: list[Entry]) -> list[Entry]:
        if not entries or all(study.weight == 1.0 for study in block.studies):
            return entries
        gains = self.unweighted_gains(state, block)[np.newaxis]
        return _best_few([block], gains, state.cost_exponent)[0]


def _option(state: State, entry: Entry) -> Option:
    loss, study, _, column = entry
    return Option(-loss, state.by_order[study], column)


def _powers(costs: Array, exponent: float) -> Array:
    # Clipped, so that powers of extreme costs can still be divided by.
    if exponent == 1.0:
        return costs
    powers: Array = np.exp(np.clip(exponent * np.log(costs), -_FARTHEST, _FARTHEST))
    return powers


def _best_few(blocks: Sequence[Block], gains: Matrix, exponent: float) -> list[list[Entry]]:
    """Return the best entries of blocks that have the same layout."""
    costs = _powers(np.array([block.costs.expected for block in blocks]), exponent)
    candidate = np.array([block.worthwhile() for block in blocks])
    losses = np.where(candidate, -gains / costs, np.inf)
    # A NaN rate counts as 0: the arm ranks last but is still tried in the end.
    losses[np.isnan(losses)] = -0.0
    if _is_plain(blocks[0]):  # a stable sort is enough
        chosen = losses.argsort(axis=1, kind="stable")[:, :RANKED]
    else:
        ranks = [block.prior.model_rank for block in blocks]
        keys = zip(ranks, (block.arms.first_study for block in blocks), losses, strict=True)
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
    study, rank = block.arms.first_study, block.prior.model_rank
    return [
        (loss, int(study[column]), int(rank[column]), column)
        for loss, column in zip(losses, columns, strict=True)
        if loss < math.inf
    ]
