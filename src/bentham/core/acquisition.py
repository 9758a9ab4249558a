"""Expected improvement (Lemma 1).

symbol  meaning
u       (mu - incumbent) / sigma
tau(u)  u Phi(u) + phi(u), the integral of the normal distribution function up to u
EI      E[max(z - incumbent, 0)] = sigma tau(u); max(mu - incumbent, 0) where sigma = 0
"""

import math

import numpy as np
from scipy.special import ndtr

from bentham.core.validation import Vector

_INVERSE_ROOT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)


def tau(u: Vector) -> Vector:
    """tau(u) = u Phi(u) + phi(u), Lemma 1; never negative, whatever the rounding."""
    tail: Vector = np.maximum(u * ndtr(u) + _INVERSE_ROOT_TWO_PI * np.exp(-0.5 * u * u), 0.0)
    return tail


def expected_improvement(mean: Vector, sigma: Vector, incumbent: Vector | float) -> Vector:
    """Eq. (3) in closed form: Lemma 1, and its limit where sigma is zero."""
    gap = mean - incumbent
    known = sigma <= 0.0
    with np.errstate(over="ignore"):  # (mu - incumbent) / sigma may square to infinity: phi is 0
        improvement: Vector = sigma * tau(gap / np.where(known, 1.0, sigma))
    return np.where(known, np.maximum(gap, 0.0), improvement)
