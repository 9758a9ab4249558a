"""MAP-EM for a mean and a covariance over models, from partially observed datasets.

    y_s | t_s ~ N(m, t_s S),   1 / t_s ~ Gamma(f/2, f/2)     a dataset's scores, in warped units
    m | S     ~ N(m0 1, S / kappa)                           means are shrunk to a common mean
    S         ~ inverse Wishart, mode T, strength nu         the covariance is shrunk to a target

Integrating out t_s makes y_s a multivariate t with f degrees of freedom: the spread of scores
differs between datasets. With W and u of `conditioning`, for a dataset with n observations:

    E-step  y^ = m + W'u,  C = S - W'W,  d2 = |u|^2,  w = E[1/t | y] = (f + n) / (f + d2)
    M-step  m = (sum w y^ + kappa m0 1) / (sum w + kappa)
            S = (sum [w (y^ - m)(y^ - m)' + C] + kappa (m - m0)(m - m0)' + nu T) / (N + nu + 1)

See docs/learning.md for the derivation (Dempster, Laird and Rubin 1977; Liu and Rubin 1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.learning.conditioning import condition
from bentham.core.learning.data import Batch, Index


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strengths of the prior assumptions; chosen from data in `regularization`.

    symbol  name     meaning
    nu      target   weight of the covariance's target, as a number of studies
    kappa   mean     weight of the common mean, as a number of studies
    f       freedom  degrees of freedom of a study's own scale: small if studies differ a lot
    -       tail     maximum degrees of freedom of the prediction of one score
    """

    target: float = 10.0
    mean: float = 1.0
    freedom: float = 4.0
    tail: float = 5.0


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums of the E-step over datasets."""

    datasets: int
    weight: float
    first: Vector  # sum w y^
    second: Matrix  # sum w y^ y^' + C
    weights: Vector  # w, by dataset


def expect(
    batches: Sequence[tuple[Index, Batch]], mean: Vector, covariance: Matrix, freedom: float
) -> Moments:
    """Compute the E-step."""
    models = len(mean)
    first, second = np.zeros(models), np.zeros((models, models))
    every = np.zeros(sum(len(places) for places, _ in batches))
    for places, batch in batches:
        rows, innovation, _ = condition(batch, batch.score, mean, covariance)
        full = mean + contract("bi,bim->bm", innovation, rows)
        weights = (freedom + batch.counts) / (freedom + contract("bi,bi->b", *[innovation] * 2))
        flat = rows.reshape(-1, models)
        every[places] = weights
        first += contract("b,bm->m", weights, full)
        second += contract("bi,bj->ij", weights[:, np.newaxis] * full, full)
        second += len(weights) * covariance - contract("ri,rj->ij", flat, flat)
    return Moments(len(every), float(every.sum()), first, second, every)


def maximise(
    moments: Moments, target: Matrix, common: float, strengths: Strengths
) -> tuple[Vector, Matrix]:
    """Compute the M-step: return mean and covariance; `common` is m0."""
    kappa, nu = strengths.mean, strengths.target
    mean = (moments.first + kappa * common) / (moments.weight + kappa)
    shift = mean - common
    scatter = (
        moments.second
        - np.outer(moments.first, mean)
        - np.outer(mean, moments.first)
        + moments.weight * np.outer(mean, mean)
        + kappa * np.outer(shift, shift)
    )
    covariance = (scatter + nu * target) / (moments.datasets + nu + 1.0)
    return mean, (covariance + covariance.T) / 2.0
