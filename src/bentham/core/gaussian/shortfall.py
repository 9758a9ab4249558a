"""How far the best arm of a study is expected to be above its incumbent.

symbol    meaning
M         the highest score among arms without a score
shortfall (M - incumbent)+: what a study would gain if all its arms were tried
rho       the mean correlation of these arms, in warped units
f, z      a factor of the t distribution (see `predictive`), a node of a standard normal

The moments of the shortfall are integrals of P(M > t) over t from the incumbent up:

    E[shortfall] = integral of P(M > t),    E[shortfall^2] = integral of 2 (t - incumbent) P(M > t)

Arms are assumed to be equally correlated: given f and z they are independent Gaussians,

    y_i = mean_i + f sigma_i (sqrt(rho) z + sqrt(1 - rho) e_i),    score_i = warp^-1(y_i)

so that P(M > t) is one minus a product. The integral over t is a trapezoidal rule for each f and z,
the mixture over z a Gauss-Hermite rule. On tables of real scores the error is at most a fifth of
the result of joint draws from the posterior (`tests/core/test_shortfall.py`).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from bentham.core.gaussian.posterior import Posterior
from bentham.core.gaussian.predictive import Outlook
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Integers
from bentham.core.problem.study import LARGEST

POINTS, REACH = 48, 5.0
# Levels are at cubes of even steps: close together where arms of small spread matter. With the
# Jacobian, the integrand is 0 at both ends, for which the trapezoidal rule is most accurate.
_EVEN = np.linspace(0.0, 1.0, POINTS)
_LEVELS, _JACOBIAN = _EVEN**3, 3.0 * _EVEN**2 / (POINTS - 1)
_NODES = np.array([-(3.0**0.5), 0.0, 3.0**0.5])  # Gauss-Hermite, exact to the fifth power
_NODE_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
_ONE_NODE, _ONE_WEIGHT = np.zeros(1), np.ones(1)
# Below the first correlation one node is enough; those above the second are reduced to it.
LEAST_CORRELATION, MOST_CORRELATION = 0.02, 0.98
_TINY = 1e-300


class Shortfall(NamedTuple):
    """Mean and variance of what a study would gain if all its arms were tried."""

    gap: float
    variance: float


def shortfall(
    outlook: Outlook, columns: Integers, correlation: float, incumbent: float
) -> Shortfall:
    """Return the moments of (M - incumbent)+ over the columns; takes 0.5 ms for 40 arms."""
    mean, sigma = outlook.mean[columns], outlook.sigma[columns]
    possible = np.isfinite(mean) & np.isfinite(sigma)
    mean, sigma = mean[possible], sigma[possible]
    if not len(mean):
        return Shortfall(0.0, 0.0)
    rho = min(max(correlation, 0.0), MOST_CORRELATION)
    nodes, node_weights = _NODES, _NODE_WEIGHTS
    if rho < LEAST_CORRELATION:
        rho, nodes, node_weights = 0.0, _ONE_NODE, _ONE_WEIGHT
    spread = outlook.factors[:, np.newaxis, np.newaxis] * sigma  # (f, 1, arms)
    centre = mean + rho**0.5 * nodes[:, np.newaxis] * spread  # (f, z, arms)
    own = np.maximum((1.0 - rho) ** 0.5 * spread, _TINY)
    # M is certain to be above `base` and certain not to be above `top`.
    warped_incumbent = float(outlook.warp(incumbent))
    base = np.maximum(warped_incumbent, (centre - REACH * own).max(axis=-1))
    top = np.maximum(base, (centre + REACH * own).max(axis=-1))
    levels = base[..., np.newaxis] + (top - base)[..., np.newaxis] * _LEVELS  # (f, z, levels)
    away = (levels[..., np.newaxis] - centre[:, :, np.newaxis]) / own[:, :, np.newaxis]
    above = 1.0 - ndtr(away).prod(axis=-1)
    scores = np.clip(outlook.warp.inverse(levels), -LARGEST, LARGEST)
    steps = outlook.warp.unit(scores) * (top - base)[..., np.newaxis] * _JACOBIAN * above
    gains = scores - incumbent
    certain = gains[..., 0]
    first = certain + steps.sum(axis=-1)
    second = certain**2 + (2.0 * gains * steps).sum(axis=-1)
    weights = outlook.weights[:, np.newaxis] * node_weights
    gap = float((weights * first).sum())
    return Shortfall(max(0.0, gap), max(0.0, float((weights * second).sum()) - gap * gap))


def mean_correlation(prior: BlockPrior, posterior: Posterior, columns: Integers) -> float:
    """Return the mean posterior correlation between different columns; 0 for fewer than two.

    With v = 1 / sigma, the sum of all correlations is v'Kv - |Wv|^2.
    """
    columns = columns[posterior.variance[columns] > 0.0]
    count = len(columns)
    if count < 2:
        return 0.0
    scaled = 1.0 / np.sqrt(posterior.variance[columns])
    total = 0.0
    for column, own in zip(columns.tolist(), scaled.tolist(), strict=True):
        total += own * float((prior.row(column)[columns] * scaled).sum())
    projected = (posterior.rows[:, columns] * scaled).sum(axis=1)
    total -= float((projected * projected).sum())
    return (total - count) / (count * (count - 1))
