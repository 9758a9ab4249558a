"""Wherever a test makes decisions in this process, gains and costs of candidates are numbers.

The scheduler itself tries an arm last of which they are not, so that nothing gets lost: in tests it
is an error, since what made it so is.
"""

import functools
from collections.abc import Sequence

import numpy as np

from bentham.core.gaussian.validation import Matrix
from bentham.core.policies import highest_rate
from bentham.core.policies.highest_rate import Entry
from bentham.core.state.blocks import Block

ranked = highest_rate._best_few


@functools.wraps(ranked)
def checked(blocks: Sequence[Block], gains: Matrix, exponent: float) -> list[list[Entry]]:
    for block, own in zip(blocks, gains, strict=True):
        costs, belief = block.costs.expected, block.belief
        rates = (own / costs)[block.arms.candidate]
        assert not np.isnan(rates).any(), (own, costs, belief.prior, belief.outlook, belief.score)
    return ranked(blocks, gains, exponent)


def install() -> None:
    highest_rate._best_few = checked
