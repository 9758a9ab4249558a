"""Wherever a test makes decisions in this process, gains and costs of candidates are numbers.

The scheduler itself tries an arm last of which they are not, so that nothing gets lost: in tests it
is an error, since what made it so is.
"""

import functools
from collections.abc import Sequence

import numpy as np

from bentham.core.blocks import Block
from bentham.core.policies import highest_rate
from bentham.core.policies.highest_rate import Entry
from bentham.core.validation import Matrix

ranked = highest_rate._best_few


@functools.wraps(ranked)
def checked(blocks: Sequence[Block], gains: Matrix, exponent: float) -> list[list[Entry]]:
    for block, own in zip(blocks, gains, strict=True):
        rates = (own / block.cost)[block.candidate]
        assert not np.isnan(rates).any(), (own, block.cost, block.prior, block.outlook, block.score)
    return ranked(blocks, gains, exponent)


def install() -> None:
    highest_rate._best_few = checked
