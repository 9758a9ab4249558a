"""The arm of highest gain per unit of cost, over all studies, whatever the gain is.

Each block enters its best few arms in its tenant's tournament, and each tenant its best in one of
tenants: a decision looks anew at touched blocks only, and passes over a barred tenant in one step.
"""

from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from bentham.core.blocks import Block, StudyState
from bentham.core.decision import RANKED
from bentham.core.policies.base import Option, rank_within
from bentham.core.state import State
from bentham.core.together import look_together
from bentham.core.tournament import Tournament
from bentham.core.validation import Vector

# (minus the rate, the lowest study that lists the arm, the model's rank, the arm's column):
# smaller is better, so that ties go to the lowest study, then the lowest model.
Entry = tuple[float, int, int, int]

_FARTHEST = 500.0


class Ranking:
    """The best few arms of every block, and who comes first among all."""

    def __init__(self) -> None:
        self._entries: dict[int, list[Entry]] = {}  # by the block's order, best first
        self._blocks: dict[str, Tournament[Entry]] = {}  # of each tenant
        self._tenants: Tournament[Entry] = Tournament()
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []

    def enter(self, looked: Iterable[tuple[Block, list[Entry]]]) -> None:
        """Blocks have these best arms from now on."""
        for tenant in dict.fromkeys([self._place(*one) for one in looked]):
            best = self._blocks[tenant].smallest(1)
            self._tenants.update(self._numbers[tenant], self._entries[best[0]][0] if best else None)

    def best(self, barred: Container[str]) -> list[Entry]:
        """The best few of all: they lie among the best few blocks of the best few tenants."""
        found: list[Entry] = []
        tenants = 0
        for number in self._tenants.ascending():
            tenant = self._names[number]
            if tenant not in barred:
                for order in self._blocks[tenant].smallest(RANKED):
                    found += self._entries[order]
                tenants += 1
                if tenants == RANKED:
                    break
        found.sort()
        return found[:RANKED]

    def _place(self, block: Block, entries: list[Entry]) -> str:
        tenant = block.tenant
        if tenant not in self._numbers:
            self._numbers[tenant] = len(self._names)
            self._names.append(tenant)
            self._blocks[tenant] = Tournament()
        self._entries[block.order] = entries
        self._blocks[tenant].update(block.order, entries[0] if entries else None)
        return tenant


class HighestRate:
    """Ranks every arm that may be run by `gains` per cost."""

    def __init__(self) -> None:
        self._stale: dict[int, Block] = {}
        self._ranking = Ranking()
        # The same as if every study weighed one; kept once somebody does not.
        self._unweighted: Ranking | None = None
        self._seen: dict[int, Block] = {}

    def __getstate__(self) -> dict[str, Any]:
        # All of it can be computed again, and is once the blocks are touched.
        caches = {"_stale": {}, "_ranking": Ranking(), "_unweighted": None, "_seen": {}}
        return {**self.__dict__, **caches}

    def gains(self, state: State, block: Block) -> Vector:
        """What each arm of the block would add, summed over the studies that list it."""
        raise NotImplementedError

    def unweighted_gains(self, state: State, block: Block) -> Vector:  # noqa: ARG002
        """The same if every study weighed one."""
        totals = np.zeros(block.prior.size)
        for study in block.studies:
            totals[study.columns] += block.study_gains(study) / study.weight
        return totals

    def touch(self, block: Block) -> None:
        """The block's entries are no longer right."""
        self._stale[block.order] = self._seen[block.order] = block

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """The arms of highest rate."""
        self._look_again(state)
        return [_option(state, entry) for entry in self._ranking.best(barred)]

    def rank_study(self, state: State, study: StudyState) -> list[Option]:
        """A study's arms of highest rate."""
        block = study.block
        rates = self.gains(state, block) / _costs(block, state.cost_exponent)
        return rank_within(study, rates[study.columns])

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:
        """What would come first if every study weighed one."""
        self._look_again(state)
        if self._unweighted is None:
            return None
        best = self._unweighted.best(barred)
        return _option(state, best[0]) if best else None

    def _look_again(self, state: State) -> None:
        stale, self._stale = self._stale, {}
        look_together([block for block in stale.values() if block.has_candidates()])
        looked = [(block, self._look(state, block)) for block in stale.values()]
        self._ranking.enter(looked)
        if self._unweighted is not None:
            self._unweighted.enter(
                (block, self._look_unweighted(state, block, entries)) for block, entries in looked
            )
        elif any(study.weight != 1.0 for block in stale.values() for study in block.studies):
            self._unweighted = Ranking()
            self._unweighted.enter(
                (block, self._look_unweighted(state, block, self._look(state, block)))
                for block in self._seen.values()
            )

    def _look(self, state: State, block: Block) -> list[Entry]:
        # A block with nothing to decide rests: computing its gains would wake it.
        if not block.has_candidates():
            return []
        return _entries(block, self.gains(state, block), _costs(block, state.cost_exponent))

    def _look_unweighted(self, state: State, block: Block, entries: list[Entry]) -> list[Entry]:
        weights = {study.weight for study in block.studies}
        if len(weights) <= 1:  # the usual case: the order within the block is the same
            return [(entry[0] / max(weights), *entry[1:]) for entry in entries]
        if not entries:
            return []
        gains = self.unweighted_gains(state, block)
        return _entries(block, gains, _costs(block, state.cost_exponent))


def _option(state: State, entry: Entry) -> Option:
    loss, study, _, column = entry
    return Option(-loss, state.by_order[study], column)


def _costs(block: Block, exponent: float) -> Vector:
    # Powers of extreme costs are kept within what can be divided by.
    if exponent == 1.0:
        return block.cost
    costs: Vector = np.exp(np.clip(exponent * np.log(block.cost), -_FARTHEST, _FARTHEST))
    return costs


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
