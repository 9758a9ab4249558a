"""A warp of scores: near a ceiling, small differences count for more.

    y = -log(1 - gap),   gap = (z - top) / softness,   top the highest score seen

so that z = top + softness (1 - exp(-y)) saturates at top + softness. The warp is smooth and
strictly increasing; with a softness much larger than the spread of the scores it is almost a
straight line. A Gaussian over y models that scores cluster below a ceiling, and that models differ
less if a study is easy. Scores near or above the ceiling are not expected: for them the curve
continues as a straight line from y = KNEE on, until the next fit uses a higher top.
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
    """A warp of scores; an infinite softness means no warp."""

    top: float = 0.0
    softness: float = math.inf

    @property
    def straight(self) -> bool:
        """Whether scores are not warped."""
        return math.isinf(self.softness)

    def __call__(self, scores: npt.ArrayLike) -> Array:
        """Return the scores in warped units."""
        array = np.asarray(scores, dtype=np.float64)
        if self.straight:
            return array
        gap = (array - self.top) / self.softness
        over = np.maximum(gap - _KNEE_GAP, 0.0)
        return over / _KNEE_SLOPE - np.log1p(-np.minimum(gap, _KNEE_GAP))

    def inverse(self, warped: Array) -> Array:
        """Return the scores for values in warped units."""
        if self.straight:
            return warped
        over = np.maximum(warped - KNEE, 0.0)
        with np.errstate(over="ignore"):  # a score far below all others: minus infinity
            gap = over * _KNEE_SLOPE - np.expm1(-np.minimum(warped, KNEE))
        return self.top + self.softness * gap

    def unit(self, scores: npt.ArrayLike) -> Array:
        """Return dz/dy at the scores: the change of score per small step in warped units."""
        array = np.asarray(scores, dtype=np.float64)
        if self.straight:
            return np.ones_like(array)
        gap = (array - self.top) / self.softness
        return self.softness * (1.0 - np.minimum(gap, _KNEE_GAP))


NO_WARP = Warp()
