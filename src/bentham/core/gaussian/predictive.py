"""Predictive distribution of a block's scores: a mixture of Gaussians, in warped units.

symbol   meaning
f        degrees of freedom of a dataset's own scale; infinite: the posterior is a Gaussian
n, d2    number of known scores of the block, and their squared Mahalanobis distance
scale    sqrt((f + d2) / (f + n)): spread of the dataset's scores relative to the prior
freedom  min(f + n, tail): degrees of freedom of the t distribution that predicts a score

A t distribution is a Gaussian whose standard deviation is multiplied by a random factor. `factors`
approximate the distribution of that factor: fixed points, evenly spaced in their logarithm, with
fixed weights (the trapezoidal rule). So expected improvement is a sum of closed forms, with the
tails of the t.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from bentham.core.gaussian.acquisition import expected_improvement, warped_improvement
from bentham.core.gaussian.posterior import Conditioned, Posterior
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Integers, Matrix, Vector
from bentham.core.gaussian.warp import Array, Warp

FACTORS = 8
# With more degrees of freedom than this, a t distribution is treated as a Gaussian.
GAUSSIAN = 200.0
# The factors extend to these tail probabilities of the t distribution's precision.
_NARROWEST, _WIDEST = 1e-3, 1e-5


@functools.lru_cache(maxsize=1024)
def factors(freedom: float) -> tuple[Vector, Vector]:
    """Return factors of the standard deviation and their weights, for a t distribution."""
    if freedom > GAUSSIAN:
        return np.ones(1), np.ones(1)
    half = freedom / 2.0
    least, most = (float(gammaincinv(half, p)) / half for p in (_WIDEST, 1.0 - _NARROWEST))
    logs = np.linspace(-0.5 * math.log(most), -0.5 * math.log(least), FACTORS)
    precision = np.exp(-2.0 * logs)
    # Density of the log factor if the precision is Gamma(f/2, f/2).
    density = half * np.log(precision) - half * precision
    weights = np.exp(density - density.max())
    return np.exp(logs), weights / weights.sum()


@dataclass(frozen=True, slots=True)
class Outlook:
    """A prediction of the score of every arm of a block."""

    mean: Vector
    sigma: Vector
    scale: float
    factors: Vector
    weights: Vector
    warp: Warp

    @staticmethod
    def of(posterior: Posterior, prior: BlockPrior) -> "Outlook":
        """Return the prediction of a posterior under its prior."""
        scale, freedom = posterior.scale, prior.freedom
        if math.isfinite(freedom):
            freedom = min(freedom + posterior.count, prior.tail)
        sigma = np.sqrt(posterior.variance)
        if scale != 1.0:
            sigma *= scale
        return Outlook(posterior.mean, sigma, scale, *factors(freedom), prior.warp)

    @staticmethod
    def each(known: Conditioned) -> list["Outlook"]:
        """Return the predictions of several posteriors, each equal to that of `of`."""
        prior, scales, sigmas = known.prior, known.scales().tolist(), known.sigma()
        freedoms = [prior.freedom] * len(scales)
        if math.isfinite(prior.freedom):
            freedoms = [min(prior.freedom + count, prior.tail) for count in known.count.tolist()]
        return [
            Outlook(mean, sigma, scale, *factors(freedom), prior.warp)
            for mean, sigma, scale, freedom in zip(
                known.mean, sigmas, scales, freedoms, strict=True
            )
        ]

    def improvement(self, incumbent: Array | float, columns: Integers | None = None) -> Vector:
        """Return the EI over the incumbent, of every arm or of the given columns."""
        mean = self.mean if columns is None else self.mean[columns]
        sigma = self.sigma if columns is None else self.sigma[columns]
        if len(self.factors) == 1:
            return gaussian_improvement(mean, sigma, incumbent, self.warp)
        spread = self.factors[:, np.newaxis] * sigma
        each = gaussian_improvement(mean, spread, incumbent, self.warp)
        expected: Vector = contract("k,km->m", self.weights, each)
        return expected

    def drawn(self, chances: Vector, normal: Matrix, rows: Matrix) -> Matrix:
        """Return random deviations from the mean, in warped units, one row per draw.

        `rows` are W over the requested arms, `normal` standard normal values. `chances`, uniform
        from 0 to 1, select one factor of the t distribution per draw.
        """
        steps = np.cumsum(self.weights)
        place = np.minimum(np.searchsorted(steps, chances), len(steps) - 1)
        moved: Matrix = contract("dr,rm->dm", normal, rows)
        moved *= self.scale * self.factors[place][:, np.newaxis]
        return moved

    def interval(self) -> tuple[Vector, Vector]:
        """Return the median of every arm's score and half the width of its one-sigma interval."""
        if self.warp.straight:
            return self.mean, self.sigma
        low, high = (self.warp.inverse(self.mean + side * self.sigma) for side in (-1.0, 1.0))
        with np.errstate(invalid="ignore"):  # NaN if both ends are minus infinity
            return self.warp.inverse(self.mean), (high - low) / 2.0


def improvements(outlooks: Sequence[Outlook], incumbents: Sequence[float]) -> list[Vector]:
    """Return the EI of every arm of several outlooks, each over its own incumbent.

    All outlooks must have the same number of arms, the same number of factors and the same warp.
    """
    warp = outlooks[0].warp
    mean = np.array([outlook.mean for outlook in outlooks])
    sigma = np.array([outlook.sigma for outlook in outlooks])
    incumbent = np.array(incumbents)
    if len(outlooks[0].factors) == 1:
        return list(gaussian_improvement(mean, sigma, incumbent[:, np.newaxis], warp))
    factor = np.array([outlook.factors for outlook in outlooks])
    spread = factor[:, :, np.newaxis] * sigma[:, np.newaxis]
    each = gaussian_improvement(
        mean[:, np.newaxis], spread, incumbent[:, np.newaxis, np.newaxis], warp
    )
    # One by one: each sum then runs in the same order as in `Outlook.improvement`.
    return [
        contract("k,km->m", outlook.weights, own)
        for outlook, own in zip(outlooks, each, strict=True)
    ]


def gaussian_improvement(mean: Array, sigma: Array, incumbent: Array | float, warp: Warp) -> Array:
    """Return E[max(z - incumbent, 0)] if the warped score is Gaussian."""
    if warp.straight:
        return expected_improvement(mean, sigma, incumbent)
    return warped_improvement(mean - warp(incumbent), sigma) * warp.unit(incumbent)
