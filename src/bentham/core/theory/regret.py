"""Regret and happiness: the definitions that every part of Bentham uses (Eq. 2).

symbol    meaning
r_i(t)    z(x_i*) - z(x_i*(t)); before the first observation, z(x_i*) - floor
Regret_T  sum over i of w_i times the integral of r_i from 0 to T
r(t)      mean regret: the mean of r_i(t) over studies, weighted by w_i
h(t)      happiness: 1 - r(t) / r(0), the share of the initial regret that is gone

`RegretMeter` updates regret with each observation of a run. `PastRegret` computes the same mean for
a grid of past times at once, over studies that are added and closed.
"""

import bisect
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from bentham.core.gaussian.validation import Integers, Vector

# Tolerance for reaching a level: scores with two decimals do not sum exactly.
LEVEL_TOLERANCE = 1e-12
Improvements = Sequence[tuple[float, float]]  # (time, score) of each new best, times ascending


def happiness(regret: float, first: float) -> float:
    """Return the share of the initial regret that is gone: 0 at first, 1 with the best models.

    Args:
        regret: Current mean regret, or gap of one study.
        first: The same at the start. If it is 0, there is nothing to gain, and happiness is 1.
    """
    return 1.0 - regret / first if first > 0.0 else 1.0


@dataclass(frozen=True, slots=True)
class Regret:
    """The regret of a finished run."""

    cumulative: float
    end_time: float
    curve: tuple[tuple[float, float], ...]  # (time, mean regret from then on), times ascending

    @property
    def happiness(self) -> float:
        """Happiness at the end."""
        return happiness(self.curve[-1][1], self.curve[0][1])

    def time_to(self, level: float) -> float | None:
        """Return the time when the mean regret first fell to the level; None if it never did."""
        for time, mean in self.curve:
            if mean <= level + LEVEL_TOLERANCE:
                return time
        return None

    def time_to_happiness(self, level: float) -> float | None:
        """Return the time when happiness first reached the level; None if it never did."""
        return self.time_to((1.0 - level) * self.curve[0][1])

    def at(self, time: float) -> float:
        """Return the mean regret at a time; after the end of the run, the last one."""
        after = bisect.bisect_right(self.curve, time, key=operator.itemgetter(0))
        return self.curve[max(0, after - 1)][1]


class ExactSum:
    """A sum to and from which terms can be added and removed without rounding errors.

    Holds non-overlapping partial sums (Shewchuk 1997), as `math.fsum` does inside one call.
    """

    def __init__(self) -> None:
        self._parts: list[float] = []

    def add(self, term: float) -> None:
        """Add a term; add its negative to remove it."""
        parts, kept = self._parts, 0
        for part in parts:
            large, small = (term, part) if abs(term) >= abs(part) else (part, term)
            term = large + small
            rest = small - (term - large)
            if rest:
                parts[kept] = rest
                kept += 1
        parts[kept:] = [term]

    @property
    def value(self) -> float:
        """The sum, rounded once: equal to `math.fsum` of all terms."""
        return math.fsum(self._parts)


class RegretMeter:
    """Measures regret while observations arrive, in the order of their times.

    The cost of an observation does not depend on the number of studies.

    Args:
        best: z(x_i*) of every study.
        floors: Score of every study at time 0.
        weights: w_i of every study. Default: 1.
        scored: Whether the floor of each study is an observed score. If not, the first observed
            score replaces the floor even if it is lower. Default: none is.
    """

    def __init__(
        self,
        best: Sequence[float],
        floors: Sequence[float],
        weights: Sequence[float] | None = None,
        scored: Sequence[bool] | None = None,
    ):
        count = len(best)
        self._best = list(best)
        self._weights = list(weights) if weights is not None else [1.0] * count
        self._weight = math.fsum(self._weights)
        self._gap = [top - floor for top, floor in zip(self._best, floors, strict=True)]
        self._since = [0.0] * count
        self._area = [0.0] * count
        self._observed = list(scored) if scored is not None else [False] * count
        self._missing = sum(
            not (observed and gap <= 0.0)
            for observed, gap in zip(self._observed, self._gap, strict=True)
        )
        self._total = ExactSum()
        for weight, gap in zip(self._weights, self._gap, strict=True):
            self._total.add(weight * gap)
        self._curve: list[tuple[float, float]] = []
        self._note(0.0)

    def observe(self, time: float, scores: Sequence[tuple[int, float]]) -> None:
        """Add the scores observed at one time, as (index of the study, score)."""
        changed = False
        for study, score in scores:
            gap, before = self._best[study] - score, self._gap[study]
            # The first score becomes the incumbent even if it is below the floor.
            if not self._observed[study] or gap < before:
                self._area[study] += before * (time - self._since[study])
                self._missing -= gap <= 0.0 and not (self._observed[study] and before <= 0.0)
                self._gap[study], self._since[study] = gap, time
                self._total.add(self._weights[study] * gap)
                self._total.add(-self._weights[study] * before)
                self._observed[study] = changed = True
        if changed:
            self._note(time)

    @property
    def mean(self) -> float:
        """Current mean regret; 0 without studies."""
        return self._curve[-1][1]

    @property
    def found(self) -> bool:
        """Whether every study has found its best model."""
        return self._missing == 0

    def finish(self, end_time: float, until: float | None = None) -> Regret:
        """Return the regret from 0 to the end of the run, or to the time `until`."""
        time = end_time if until is None else until
        areas = [
            weight * (area + gap * (time - since))
            for weight, area, gap, since in zip(
                self._weights, self._area, self._gap, self._since, strict=True
            )
        ]
        return Regret(math.fsum(areas), end_time, tuple(self._curve))

    def _note(self, time: float) -> None:
        # The sum is exact, so the curve does not drift in long runs.
        mean = self._total.value / self._weight if self._weights else 0.0
        if self._curve and self._curve[-1][0] == time:
            self._curve.pop()
        self._curve.append((time, mean))


class PastRegret:
    """Mean regret at each time of a grid, over the studies that were open then, unweighted.

    Args:
        grid: Times, ascending, (times,).
        created: Time when each study was created, (studies,).
        closed: Time when each study was closed, (studies,); infinite if it is still open.
        start: Score of each study before its first improvement, (studies,).
    """

    def __init__(self, grid: Vector, created: Vector, closed: Vector, start: Vector):
        self._grid, self._created, self._closed, self._start = grid, created, closed, start
        self._count = np.maximum(open_at(grid, created, closed), 1)

    def mean(self, bests: Vector, improvements: Sequence[Improvements]) -> Vector:
        """Return the mean of best minus incumbent; ignores improvements after a study closed."""
        lengths = np.array([len(own) for own in improvements], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(chain.from_iterable(improvements)), np.float64)
        times, scores = flat[0::2], flat[1::2]
        owner = np.repeat(np.arange(len(improvements)), lengths)
        before = np.empty_like(scores)
        before[1:] = scores[:-1]
        improved = lengths > 0
        before[(np.cumsum(lengths) - lengths)[improved]] = self._start[improved]
        gains = np.where(times <= self._closed[owner], scores - before, 0.0)
        gained = np.bincount(owner, gains, minlength=len(improvements))
        total = (
            self._added(self._created, bests - self._start)
            - self._added(times, gains)
            - self._added(self._closed, bests - self._start - gained)
        )
        return np.maximum(total, 0.0) / self._count

    def deviation(self, deviations: Vector, groups: Integers) -> Vector:
        """Return the mean's standard deviation: errors in a group add up, groups are independent.

        Closed studies must have a deviation of 0, so every other study counts from its creation.
        """
        order = np.lexsort((self._created, groups))
        group, own = groups[order], deviations[order]
        total = np.cumsum(own)
        first = np.searchsorted(group, group)  # index where the group begins
        within = total - (total - own)[first]
        squares = within**2 - (within - own) ** 2
        variance = self._added(self._created[order], squares)
        return np.sqrt(np.maximum(variance, 0.0)) / self._count

    def _added(self, times: Vector, amounts: Vector) -> Vector:
        """Return, for each time of the grid, the sum of the amounts up to then."""
        indices = np.searchsorted(self._grid, times)
        size = len(self._grid)
        return np.cumsum(np.bincount(indices, amounts, minlength=size + 1)[:size])


def open_at(grid: Vector, created: Vector, closed: Vector) -> Integers:
    """Return the number of open studies at each time of a grid."""
    starts, ends = np.sort(created), np.sort(closed)
    return np.searchsorted(starts, grid, "right") - np.searchsorted(ends, grid, "right")
