"""Regret curves over repeated runs: mean and band, times to a level, and speed-ups.

    symbol       shape           meaning
    times        (points,)       every time at which the regret of some run changes
    values       (runs, points)  each run's mean regret over studies, from that time on
    levels       (levels,)       levels of regret to reach
    S(level)     scalar          time to a level of the slower one / of the faster one

Times are read off the mean curve, as from the paper's figures. Intervals are 95 %: percentiles of a
bootstrap over runs. A comparison resamples the same runs of both sides, since both served the same
studies in each run. Since a bootstrap over few runs is too narrow, intervals are widened like those
of Student's t relative to the normal distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri, stdtrit

from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.theory.regret import LEVEL_TOLERANCE
from bentham.reproduce.runs import Result

RESAMPLES = 1000
COVERED = (2.5, 97.5)
LEVELS = 20
LOWEST_SHARE = 0.05  # levels go from the regret after the warm start to this fraction of it
_BOOTSTRAP_SEED = 20180
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curves:
    """The runs of one cell."""

    times: Vector
    values: Matrix
    regrets: Vector  # cumulative
    after_warm_start: float  # mean regret at the end of the warm start

    @staticmethod
    def of(results: Sequence[Result]) -> "Curves":
        """Build the curves from stored results."""
        steps = [np.array(result["curve"]) for result in results]
        times = np.unique(np.concatenate([step[:, 0] for step in steps]))
        return Curves(
            times,
            np.array([_at(step, times) for step in steps]),
            np.array([result["cumulative_regret"] for result in results]),
            float(np.mean([result["regret_then"] for result in results])),
        )

    def sampled(self, times: Vector) -> Matrix:
        """Evaluate the runs' curves at other times."""
        places = np.searchsorted(self.times, times, side="right") - 1
        return np.asarray(self.values[:, places])

    def times_to(self, levels: Vector, weights: Matrix) -> Matrix:
        """Return when the mean curve falls to each level, with a row per row of run weights."""
        means = contract("br,rp->bp", weights, self.values)
        reached = means[:, np.newaxis, :] <= levels[:, np.newaxis] + LEVEL_TOLERANCE
        return np.asarray(self.times[reached.argmax(axis=2)])

    def levels(self) -> Vector:
        """Return levels from the regret after the warm start (if zero: the initial regret) down."""
        highest = self.after_warm_start or float(self.values[:, 0].mean())
        return np.geomspace(highest, LOWEST_SHARE * highest, LEVELS)


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How much earlier the mean regret falls to the same levels."""

    levels: Vector
    by_level: tuple[IntervalEstimate, ...]
    typical: IntervalEstimate  # the geometric mean over levels
    logs: Vector  # of `typical`: for all runs, then for every resample


def speed_up(slow: Curves, fast: Curves, levels: Vector) -> SpeedUp:
    """Return how much faster `fast` is; the same runs of both are resampled."""
    runs = len(slow.values)
    table = _ratios(slow, fast, levels)
    logs = np.log(table).mean(axis=1)
    return SpeedUp(
        levels,
        tuple(ratio_estimate(np.log(column), runs) for column in table.T),
        ratio_estimate(logs, runs),
        logs,
    )


def largest_speed_up(slow: Curves, fast: Curves, levels: Vector) -> tuple[float, IntervalEstimate]:
    """Return the level with the largest speed-up, and the speed-up there.

    The maximum of many noisy numbers is biased upwards. The bias is estimated by Efron's optimism,
    and subtracted: each resample picks its best level; the optimism is the mean difference between
    that level's log speed-up in the resample and over all runs.
    """
    runs = len(slow.values)
    logs = np.log(_ratios(slow, fast, levels))
    picked = logs.argmax(axis=1)
    optimism = float((logs.max(axis=1) - logs[0, picked])[1:].mean())
    return float(levels[picked[0]]), ratio_estimate(logs[:, picked[0]] - optimism, runs)


def _ratios(slow: Curves, fast: Curves, levels: Vector) -> Matrix:
    """Return ratios of times: a row for all runs, then one per resample; a column per level."""
    return np.concatenate(
        [
            _ratio(slow.times_to(levels, rows), fast.times_to(levels, rows))
            for rows in np.array_split(resamples(len(slow.values)), 20)  # in parts, to save memory
        ]
    )


def _ratio(slow: Matrix, fast: Matrix) -> Matrix:
    """Divide times; the ratio is 1 where a level is reached at time 0."""
    return np.divide(slow, fast, out=np.ones_like(slow), where=fast > 0.0)


@cache
def resamples(runs: int) -> Matrix:
    """Return weights of the runs: first equal weights, then those of each bootstrap resample."""
    rng = np.random.default_rng([_BOOTSTRAP_SEED, runs])
    drawn = rng.integers(0, runs, (RESAMPLES, runs))
    counts = (drawn[:, :, np.newaxis] == np.arange(runs)).sum(axis=1)
    weights = np.concatenate([np.ones((1, runs)), counts]) / runs
    weights.flags.writeable = False  # shared by all who ask
    return weights


def estimate(values: Vector, runs: int) -> IntervalEstimate:
    """Return the first value, with an interval from the others: resamples of `runs` runs."""
    value = float(values[0])
    if runs < 2:
        return IntervalEstimate(value, -math.inf, math.inf)
    quantile = float(stdtrit(runs - 1, COVERED[1] / 100.0) / ndtri(COVERED[1] / 100.0))
    wider = quantile * math.sqrt(runs / (runs - 1.0))
    low, high = (float(end) for end in np.percentile(values[1:], COVERED))
    return IntervalEstimate(value, value + wider * (low - value), value + wider * (high - value))


def ratio_estimate(logs: Vector, runs: int) -> IntervalEstimate:
    """Like `estimate`, for a ratio given by its logarithms."""
    one = estimate(logs, runs)
    with np.errstate(over="ignore"):
        return IntervalEstimate(
            *(float(np.exp(number)) for number in (one.value, one.low, one.high))
        )


def regret_ratio(slow: Curves, fast: Curves) -> IntervalEstimate:
    """Return the geometric mean over runs of the ratio of cumulative regrets."""
    runs = min(len(slow.regrets), len(fast.regrets))  # both start with the same seed
    # If both regrets are zero, the ratio is 1.
    logs = np.log((slow.regrets[:runs] + _TINY) / (fast.regrets[:runs] + _TINY))
    return ratio_estimate(contract("br,r->b", resamples(runs), logs), runs)


def slope(x: Vector, y: Matrix) -> IntervalEstimate:
    """Return the slope of log mean y over log x; y has a row per run and a column per x."""
    means = np.log(contract("br,rp->bp", resamples(len(y)), y) + _TINY)
    centred = np.log(x) - np.log(x).mean()
    return estimate(contract("bp,p->b", means, centred) / (centred**2).sum(), len(y))


def rank_correlation(x: Vector, y: Vector) -> IntervalEstimate:
    """Return Spearman's rank correlation, with an interval from a bootstrap over the pairs."""
    rng = np.random.default_rng([_BOOTSTRAP_SEED, len(x), 2])
    rows = [np.arange(len(x)), *rng.integers(0, len(x), (RESAMPLES, len(x)))]
    found = np.array([_correlation(_ranks(x[row]), _ranks(y[row])) for row in rows])
    one = estimate(found, len(x))
    return IntervalEstimate(one.value, max(-1.0, one.low), min(1.0, one.high))


def _ranks(values: Vector) -> Vector:
    """Return ranks; equal values share one."""
    below = (values[:, np.newaxis] > values).sum(axis=1)
    return np.asarray(below + (values[:, np.newaxis] == values).sum(axis=1) / 2.0)


def _correlation(x: Vector, y: Vector) -> float:
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale > 0.0 else 0.0


def _at(steps: Matrix, times: Vector) -> Vector:
    places = np.searchsorted(steps[:, 0], times, side="right") - 1
    return np.asarray(steps[places, 1])
