"""Makes NaN gains and costs of candidates an error in all tests of this process.

In production the scheduler ranks such an arm last, so that it still runs. In tests NaN is an error,
because whatever causes it is a bug.
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
    for block, row in zip(blocks, gains, strict=True):
        costs, belief = block.costs.expected, block.belief
        rates = (row / costs)[block.arms.candidate]
        assert not np.isnan(rates).any(), (row, costs, belief.prior, belief.outlook, belief.score)
    return ranked(blocks, gains, exponent)


def install() -> None:
    highest_rate._best_few = checked
