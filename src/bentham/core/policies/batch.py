"""Evaluate many blocks at once: the same results as one by one, with fewer and larger numpy calls.

After a fit, many blocks adopt the new belief at a time, and the next decision evaluates all of
them. The arithmetic is the same as for single blocks, operation by operation, and so are the
results, to the bit.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from bentham.core.costs.predict import expected_costs
from bentham.core.gaussian.posterior import Posterior, condition
from bentham.core.gaussian.predictive import Outlook, improvements
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState

# Number of blocks evaluated at a time; more would not fit the CPU cache.
BATCH = 64

Item = TypeVar("Item")


def compute_together(blocks: Sequence[Block]) -> None:
    """Compute the costs, outlooks and expected improvements that blocks have not computed yet."""
    _expect_costs(blocks)
    _condition(blocks)
    _improve(blocks)


def _expect_costs(blocks: Sequence[Block]) -> None:
    pending = [(block, *pair) for block in blocks for pair in block.costs.questions()]
    if pending:
        found = expected_costs([question for _, _, question in pending])
        for (block, listing, _), costs in zip(pending, found, strict=True):
            block.costs.set_expected(listing, costs)


def _condition(blocks: Sequence[Block]) -> None:
    for group in grouped((block for block in blocks if not block.belief.computed), _prior):
        prior = group[0].prior
        observed = [block for block in group if block.belief.observed]
        if len(observed) < len(group):  # without observations, all share one outlook
            outlook = Outlook.of(Posterior(prior), prior)
            for block in group:
                if not block.belief.observed:
                    block.belief.set_computed(None, outlook)
        if observed:
            scores = [block.belief.warped_scores() for block in observed]
            known = condition(prior, [block.belief.observed for block in observed], scores)
            outlooks = Outlook.each(known)
            for place, block in enumerate(observed):
                block.belief.set_computed(known.posterior(place), outlooks[place])


def _improve(blocks: Sequence[Block]) -> None:
    sole = [
        (block, study) for block in blocks if (study := block.gains.sole_to_compute()) is not None
    ]
    for group in grouped(sole, _shape):
        same = grouped(group, lambda pair: (id(pair[0].belief.outlook), pair[1].incumbent))
        outlooks = [pairs[0][0].belief.outlook for pairs in same]
        gains = improvements(outlooks, [pairs[0][1].incumbent for pairs in same])
        for pairs, own in zip(same, gains, strict=True):
            for block, _ in pairs:
                block.gains.set_computed(own)


def _prior(block: Block) -> Hashable:
    return id(block.prior)


def _shape(pair: tuple[Block, StudyState]) -> Hashable:
    block, _ = pair
    return id(block.prior), len(block.belief.outlook.factors)


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items with equal keys, in order of first appearance."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
