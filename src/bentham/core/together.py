"""Looking at many blocks at once: what each would compute by itself, in fewer and larger steps.

After a fit, blocks take the new belief many at a time, and the next decision looks at all of them.
Their arithmetic is the same, operation by operation, and so is every bit of what comes out; what
is saved is the calls.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from bentham.core.blocks import Block, StudyState
from bentham.core.expected_costs import expected_costs
from bentham.core.outlook import Outlook, improvements
from bentham.core.posterior import condition

# So many at a time: more do not stay in the cache.
TOGETHER = 32

Item = TypeVar("Item")


def look_together(blocks: Sequence[Block]) -> None:
    """Compute costs, outlooks and expected improvements where a block has none at hand."""
    for start in range(0, len(blocks), TOGETHER):
        some = blocks[start : start + TOGETHER]
        _expect_costs(some)
        _condition(some)
        _improve(some)


def _expect_costs(blocks: Sequence[Block]) -> None:
    awaited = [(block, *pair) for block in blocks for pair in block.awaited_costs()]
    if awaited:
        found = expected_costs([question for _, _, question in awaited])
        for (block, listing, _), costs in zip(awaited, found, strict=True):
            block.settle_costs(listing, costs)


def _condition(blocks: Sequence[Block]) -> None:
    unconditioned = (block for block in blocks if not block.conditioned)
    for alike in _grouped(unconditioned, lambda block: id(block.prior)):
        prior = alike[0].prior
        observed = [block.observations() for block in alike]
        known = condition(prior, [pair[0] for pair in observed], [pair[1] for pair in observed])
        for place, (block, outlook) in enumerate(zip(alike, Outlook.each(known), strict=True)):
            block.believe(known.posterior(place), outlook)


def _improve(blocks: Sequence[Block]) -> None:
    sole = [(block, study) for block in blocks if (study := block.sole_unimproved()) is not None]
    for alike in _grouped(sole, _shape):
        outlooks = [block.outlook for block, _ in alike]
        gains = improvements(outlooks, [study.incumbent for _, study in alike])
        for (block, _), own in zip(alike, gains, strict=True):
            block.improve(own)


def _shape(pair: tuple[Block, StudyState]) -> Hashable:
    outlook = pair[0].outlook
    return len(outlook.mean), len(outlook.factors), outlook.warp


def _grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
