"""Regret: a study's gap to its best model, over time and summed over studies (Eq. 2).

symbol    meaning
r_i(t)    z(x_i*) - z(x_i*(t)); before the first observation, z(x_i*) - floor
Regret_T  sum over i of w_i times the integral of r_i from 0 to T
r(t)      the instantaneous regret: the mean of r_i(t) over studies, weighted by w_i
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A level counts as reached within this much: scores with two decimals do not sum exactly.
LEVEL_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Regret:
    """The regret of a finished run."""

    cumulative: float
    end_time: float
    curve: tuple[tuple[float, float], ...]  # (time, mean regret from then on), times ascending

    def time_to(self, level: float) -> float | None:
        """When the mean regret first fell to the level; None if it never did."""
        for time, mean in self.curve:
            if mean <= level + LEVEL_TOLERANCE:
                return time
        return None


class RegretMeter:
    """Adds up regret while observations come in, in the order of their times."""

    def __init__(
        self,
        best: Sequence[float],
        floors: Sequence[float],
        weights: Sequence[float] | None = None,
    ):
        self._best = list(best)
        self._weights = list(weights) if weights is not None else [1.0] * len(self._best)
        self._gap = [top - floor for top, floor in zip(self._best, floors, strict=True)]
        self._since = [0.0] * len(self._best)
        self._area = [0.0] * len(self._best)
        self._observed = [False] * len(self._best)
        self._curve: list[tuple[float, float]] = []
        self._note(0.0)

    def observe(self, time: float, scores: Sequence[tuple[int, float]]) -> None:
        """Scores that became known at one instant, as (study's place, score)."""
        changed = False
        for study, score in scores:
            gap = self._best[study] - score
            # The first score stands for the study even if it is below the floor.
            if not self._observed[study] or gap < self._gap[study]:
                self._area[study] += self._gap[study] * (time - self._since[study])
                self._gap[study], self._since[study] = gap, time
                self._observed[study] = changed = True
        if changed:
            self._note(time)

    @property
    def found(self) -> bool:
        """Whether every study has its best model."""
        return all(self._observed) and max(self._gap) <= 0.0

    def finish(self, end_time: float, until: float | None = None) -> Regret:
        """The regret from 0 to the end of the run, or on to a later time."""
        time = end_time if until is None else until
        areas = [
            weight * (area + gap * (time - since))
            for weight, area, gap, since in zip(
                self._weights, self._area, self._gap, self._since, strict=True
            )
        ]
        return Regret(math.fsum(areas), end_time, tuple(self._curve))

    def _note(self, time: float) -> None:
        # fsum is exact: the curve does not drift however long the run.
        gaps = (weight * gap for weight, gap in zip(self._weights, self._gap, strict=True))
        mean = math.fsum(gaps) / math.fsum(self._weights)
        if self._curve and self._curve[-1][0] == time:
            self._curve.pop()
        self._curve.append((time, mean))
