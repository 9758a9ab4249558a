"""A warp of scores: near a ceiling, small differences count for more.

    y = -log(1 + (top - z) / softness)      up to the top, the highest score seen
    y = (z - top) / softness                above it

It is smooth and rises everywhere; with a softness that is large against the spread of the scores
it is a straight line. A Gaussian over y knows that scores crowd below a ceiling, and that models
differ less where a study is easy.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
        return np.maximum(gap, 0.0) - np.log1p(np.maximum(-gap, 0.0))

    def inverse(self, warped: Array) -> Array:
        """Warped units as scores."""
        if self.straight:
            return warped
        with np.errstate(over="ignore"):  # a score far below all others: minus infinity
            gap = np.maximum(warped, 0.0) - np.expm1(np.maximum(-warped, 0.0))
        return self.top + self.softness * gap

    def unit(self, scores: npt.ArrayLike) -> Array:
        """dz/dy: what a small step in warped units is worth at a score."""
        given = np.asarray(scores, dtype=np.float64)
        if self.straight:
            return np.ones_like(given)
        return self.softness + np.maximum(self.top - given, 0.0)


NO_WARP = Warp()
