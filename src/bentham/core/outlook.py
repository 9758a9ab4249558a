"""What a block's posterior says of scores: a mixture of Gaussians, in warped units.

symbol   meaning
f        degrees of freedom of a dataset's own scale; infinite: the posterior is a Gaussian
n, d2    how many scores of the block are known, and their squared Mahalanobis distance
scale    sqrt((f + d2) / (f + n)): how much wider or narrower than the prior the dataset spreads
freedom  min(f + n, tail): of the t distribution that a score's prediction is

A t distribution is a Gaussian whose deviation is multiplied by a random factor. `factors` stand
for its distribution with fixed weights, evenly spaced in their logarithm (the trapezoidal rule),
so that expected improvement stays a sum of closed forms and its tails are those of the t.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from bentham.core.acquisition import expected_improvement, warped_improvement
from bentham.core.posterior import Posterior
from bentham.core.prior import BlockPrior
from bentham.core.validation import Integers, Vector
from bentham.core.warp import Array, Warp

FACTORS = 8
# With more degrees of freedom than this a t distribution is a Gaussian for our purposes.
GAUSSIAN = 200.0
# The factors reach as far as these tail probabilities of the t's precision.
_NARROWEST, _WIDEST = 1e-3, 1e-5


@functools.lru_cache(maxsize=1024)
def factors(freedom: float) -> tuple[Vector, Vector]:
    """Factors of the deviation and their weights, for a t with so many degrees of freedom."""
    if freedom > GAUSSIAN:
        return np.ones(1), np.ones(1)
    half = freedom / 2.0
    least, most = (float(gammaincinv(half, p)) / half for p in (_WIDEST, 1.0 - _NARROWEST))
    logs = np.linspace(-0.5 * math.log(most), -0.5 * math.log(least), FACTORS)
    precision = np.exp(-2.0 * logs)
    # The density of the log factor, where the precision is Gamma(f/2, f/2).
    density = half * np.log(precision) - half * precision
    weights = np.exp(density - density.max())
    return np.exp(logs), weights / weights.sum()


@dataclass(frozen=True, slots=True)
class Outlook:
    """A prediction of every arm of a block."""

    mean: Vector
    sigma: Vector
    scale: float
    factors: Vector
    weights: Vector
    warp: Warp

    @staticmethod
    def of(posterior: Posterior, prior: BlockPrior) -> "Outlook":
        """What a posterior says, under its prior's assumptions."""
        scale, freedom = 1.0, prior.freedom
        if math.isfinite(freedom):
            known = posterior.count
            scale = math.sqrt((freedom + posterior.distance) / (freedom + known))
            freedom = min(freedom + known, prior.tail)
        sigma = np.sqrt(posterior.variance)
        if scale != 1.0:
            sigma *= scale
        return Outlook(posterior.mean, sigma, scale, *factors(freedom), prior.warp)

    def improvement(self, incumbent: Array | float, columns: Integers | None = None) -> Vector:
        """Expected improvement over the incumbent, of every arm or of the columns given."""
        mean = self.mean if columns is None else self.mean[columns]
        sigma = self.sigma if columns is None else self.sigma[columns]
        if len(self.factors) == 1:
            return gaussian_improvement(mean, sigma, incumbent, self.warp)
        spread = self.factors[:, np.newaxis] * sigma
        each = gaussian_improvement(mean, spread, incumbent, self.warp)
        expected: Vector = np.einsum("k,km->m", self.weights, each)
        return expected

    def interval(self) -> tuple[Vector, Vector]:
        """The median of every arm's score, and half the width of its one-sigma interval."""
        if self.warp.straight:
            return self.mean, self.sigma
        low, high = (self.warp.inverse(self.mean + side * self.sigma) for side in (-1.0, 1.0))
        return self.warp.inverse(self.mean), (high - low) / 2.0


def gaussian_improvement(mean: Array, sigma: Array, incumbent: Array | float, warp: Warp) -> Array:
    """E[max(z - incumbent, 0)] where the warped score is Gaussian."""
    if warp.straight:
        return expected_improvement(mean, sigma, incumbent)
    return warped_improvement(mean - warp(incumbent), sigma) * warp.unit(incumbent)
