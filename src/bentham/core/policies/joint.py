"""MM-GP-EI that takes running trials into account: the default policy.

The paper excludes running trials from the choice and otherwise ignores them, so that devices crowd
on one study: while its first trial runs, its other arms still promise the full improvement over the
floor. Here the value of an arm is its marginal gain: what it adds to the expected results of the
running trials R of its dataset,

    E[max(best of R and x) - incumbent]+ - E[max(best of R) - incumbent]+
        = E_R [ EI(x | scores of R, incumbent raised by them) ]

The outer expectation is over fixed quasi-random draws of the scores of R (a Kronecker sequence,
the same at every decision); the inner one is in closed form.
"""

import functools

import numpy as np
from scipy.special import ndtri

from bentham.core.gaussian.predictive import gaussian_improvement
from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Integers, Matrix, Vector
from bentham.core.policies.highest_rate import HighestRate
from bentham.core.state.blocks import Block
from bentham.core.state.state import State

# Minimum number of draws of the running scores: in all, and for each factor of the outlook.
DRAWS, DRAWS_EACH = 16, 4


class Joint(HighestRate):
    """Picks the arm of highest marginal EI per cost, given the running trials."""

    name = "joint"

    def gains(self, state: State, block: Block) -> Vector:  # noqa: ARG002
        """Return Eq. (4), minus the improvement expected from the running trials."""
        running = block.arms.running()
        return marginal_gains(block, np.array(running)) if running else block.gains.totals()

    def unweighted_gains(self, state: State, block: Block) -> Vector:
        """Return the gains with all weights 1."""
        running = block.arms.running()
        if not running:
            return super().unweighted_gains(state, block)
        return marginal_gains(block, np.array(running), weighted=False)


def marginal_gains(block: Block, running: Integers, weighted: bool = True) -> Vector:
    """Return what each arm adds to the running ones, summed over the studies that list it."""
    outlook = block.belief.outlook
    rows = block.belief.posterior.ahead(running)
    count = len(outlook.factors)
    each = max(DRAWS_EACH, DRAWS // count)
    factor = np.repeat(outlook.factors, each)[:, np.newaxis]
    weight = np.repeat(outlook.weights, each) / each
    mean = outlook.mean + outlook.scale * factor * contract(
        "dr,rm->dm", draws(count * each, len(rows)), rows
    )
    left = np.maximum(block.belief.posterior.variance - contract("rm,rm->m", rows, rows), 0.0)
    left[running] = 0.0
    sigma = outlook.scale * factor * np.sqrt(left)
    scores = outlook.warp.inverse(mean[:, running])
    totals = np.zeros(block.prior.size)
    for study in block.studies:
        own = scores[:, np.isin(running, study.columns)]
        incumbent = own.max(axis=1, initial=study.incumbent)[:, np.newaxis]
        gains = gaussian_improvement(
            mean[:, study.columns], sigma[:, study.columns], incumbent, outlook.warp
        )
        counted = study.weight if weighted else 1.0
        totals[study.columns] += counted * contract("d,dm->m", weight, gains)
    return totals


@functools.lru_cache(maxsize=256)
def draws(count: int, dimensions: int) -> Matrix:
    """Return `count` (even) standard normal points: multiples of roots of primes, modulo one."""
    steps = np.sqrt(np.array(_primes(dimensions), dtype=np.float64)) % 1.0
    points = (np.arange(1, count // 2 + 1)[:, np.newaxis] * steps + 0.5) % 1.0
    # Midpoints of 2^20 equal cells: no point is 0 or 1, where the normal quantile is infinite.
    cells = np.floor(points * 2**20)
    normal: Matrix = ndtri((cells + 0.5) / 2**20)
    # Each point is followed by its negative, so that any even number of points has mean 0.
    return np.stack([normal, -normal], axis=1).reshape(-1, dimensions)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
