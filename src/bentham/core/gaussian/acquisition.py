"""Expected improvement (Lemma 1) of plain and of warped scores.

symbol  meaning
u       (mu - incumbent) / sigma
tau(u)  u Phi(u) + phi(u), the integral of the normal distribution function up to u
EI      E[max(z - incumbent, 0)] = sigma tau(u); max(mu - incumbent, 0) where sigma = 0

If y = -log(const - z) is Gaussian, the improvement of z over the incumbent, in units of dz/dy at
the incumbent, is 1 - exp(-(y - y_incumbent)): it saturates at the ceiling. Its expectation over y
above y_incumbent, with gap = mu - y_incumbent and d = gap / sigma, is

        Phi(d) - exp(sigma^2 / 2 - gap) Phi(d - sigma)
"""

import math

import numpy as np
from scipy.special import erfcx, ndtr

from bentham.core.gaussian.validation import Vector

_ROOT_HALF = math.sqrt(0.5)
_INVERSE_ROOT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)


def tau(u: Vector) -> Vector:
    """Return tau(u) = u Phi(u) + phi(u), Lemma 1; never negative, despite rounding."""
    tail: Vector = np.maximum(u * ndtr(u) + _INVERSE_ROOT_TWO_PI * np.exp(-0.5 * u * u), 0.0)
    return tail


def expected_improvement(mean: Vector, sigma: Vector, incumbent: Vector | float) -> Vector:
    """Return Eq. (3) in closed form: Lemma 1, and its limit where sigma is 0."""
    gap = mean - incumbent
    known = sigma <= 0.0
    with np.errstate(over="ignore"):  # gap / sigma squared may overflow: phi is 0 then
        improvement: Vector = sigma * tau(gap / np.where(known, 1.0, sigma))
    return np.where(known, np.maximum(gap, 0.0), improvement)


# With a sigma below this, a warp cannot be distinguished from a straight line.
_STRAIGHT = 1e-5


def warped_improvement(gap: Vector, sigma: Vector) -> Vector:
    """Return the EI in units of dz/dy at the incumbent; `gap` is mu - y_incumbent."""
    gap, sigma = np.broadcast_arrays(gap, sigma)
    safe = np.where(sigma > 0.0, sigma, 1.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        d = np.where(sigma > 0.0, gap / safe, 0.0)
        behind = safe - d
        # exp(sigma^2/2 - gap) Phi(d - sigma), using Mills' ratio where the exponent may overflow.
        ratio = 0.5 * np.exp(-0.5 * d * d) * erfcx(np.maximum(behind, 0.0) * _ROOT_HALF)
        ahead = np.exp(np.minimum(safe * (0.5 * safe - d), 0.0)) * ndtr(-behind)
        curved = np.maximum(ndtr(d) - np.where(behind >= 0.0, ratio, ahead), 0.0)
        line = safe * tau(d)
    known = -np.expm1(-np.maximum(gap, 0.0))
    improvement = np.where(safe < _STRAIGHT, np.minimum(line, 1.0), curved)
    return np.where(sigma > 0.0, improvement, known)
