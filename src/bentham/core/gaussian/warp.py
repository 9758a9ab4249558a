"""A warp of scores: near a ceiling, small differences count for more.

    y = -log(1 - gap),   gap = (z - top) / softness,   top the highest score seen

so that z = top + softness (1 - exp(-y)) saturates at top + softness. It is smooth and rises
everywhere; with a softness that is large against the spread of the scores it is a straight line.
A Gaussian over y knows that scores crowd below a ceiling, and that models differ less where a
study is easy. A score that comes close to the ceiling, or beyond, was not foreseen: from y = KNEE
on the curve goes on straight, until the next fit knows a higher top.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

KNEE = 3.0
_KNEE_SLOPE = math.exp(-KNEE)
_KNEE_GAP = 1.0 - _KNEE_SLOPE


@dataclass(frozen=True, slots=True)
class Warp:
    """A warp; with softness infinity, none."""

    top: float = 0.0
    softness: float = math.inf

    @property
    def straight(self) -> bool:
        """Whether scores are left as they are."""
        return math.isinf(self.softness)

    def __call__(self, scores: npt.ArrayLike) -> Array:
        """Scores in warped units."""
        given = np.asarray(scores, dtype=np.float64)
        if self.straight:
            return given
        gap = (given - self.top) / self.softness
        over = np.maximum(gap - _KNEE_GAP, 0.0)
        return over / _KNEE_SLOPE - np.log1p(-np.minimum(gap, _KNEE_GAP))

    def inverse(self, warped: Array) -> Array:
        """Warped units as scores."""
        if self.straight:
            return warped
        over = np.maximum(warped - KNEE, 0.0)
        with np.errstate(over="ignore"):  # a score far below all others: minus infinity
            gap = over * _KNEE_SLOPE - np.expm1(-np.minimum(warped, KNEE))
        return self.top + self.softness * gap

    def unit(self, scores: npt.ArrayLike) -> Array:
        """dz/dy: what a small step in warped units is worth at a score."""
        given = np.asarray(scores, dtype=np.float64)
        if self.straight:
            return np.ones_like(given)
        gap = (given - self.top) / self.softness
        return self.softness * (1.0 - np.minimum(gap, _KNEE_GAP))


NO_WARP = Warp()
