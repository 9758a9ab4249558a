"""How far studies are believed to be from their best model.

The shortfall of a study is what the best of its models without a score, M, would add to its
incumbent: (M - incumbent)+. Its moments are integrals of P(M > t) from the incumbent up,

    E[shortfall] = integral of P(M > t),    E[shortfall^2] = integral of 2 (t - incumbent) P(M > t)

taken as if models were independent (which makes the first an upper estimate where they are
positively correlated) and Gaussian with the posterior's median and spread, by the trapezoidal rule.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from bentham.core.gaussian.validation import Vector
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool

POINTS, REACH = 48, 5.0
# Levels stand at cubes of even steps: close together where models of little spread matter, however
# far the others reach. The first step is nothing, and at the top there is nothing left.
_EVEN = np.linspace(0.0, 1.0, POINTS)
_GAINS, _STEPS = _EVEN**3, 3.0 * _EVEN**2 / (POINTS - 1)
# So many are made anew with one look at most, and with all the looks of a second: one takes about
# a tenth of a millisecond.
BURST, PER_SECOND = 40, 40
# The quantile of a normal distribution that an 80 % band reaches to.
BAND = 1.2815515594457831


class Estimate(NamedTuple):
    """A study's expected shortfall, and its variance."""

    gap: float
    variance: float


class _Kept(NamedTuple):
    """An estimate: which it was of all, what was believed when it was made, the incumbent then."""

    number: int
    changes: int
    gap: float
    variance: float
    incumbent: float


class Estimates:
    """Shortfalls of studies, each kept until something else is believed of its dataset.

    Everybody waits while they are computed, so a look makes only some of them anew; the others
    are as they were, less what their incumbents gained since, and have their turn later. A study
    that was not looked at yet has none, nor has one that is paused since before the start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._pool: Pool | None = None
        self._left, self._since = float(BURST), clock()
        self._tidy_at = 0
        self.made = 0  # so many were computed

    def of_studies(self, pool: Pool, studies: Iterable[Study]) -> dict[str, float]:
        """What each study may still gain, as far as is believed."""
        return {name: known.gap for name, known in self.estimate(pool, studies).items()}

    def estimate(self, pool: Pool, studies: Iterable[Study]) -> dict[str, Estimate]:
        """What is believed of each study's shortfall; closed ones have all that they will have.

        A microsecond each, and up to BURST new ones.
        """
        if pool is not self._pool:  # what another log led to
            self._pool = pool
            self._kept.clear()
        found: dict[str, Estimate] = {}
        due: list[tuple[int, Study]] = []
        for study in studies:
            if study.state == "closed":
                found[study.id] = Estimate(0.0, 0.0)
                continue
            kept = self._kept.get(study.id)
            if kept is not None:
                found[study.id] = _since(kept, study)
                if study.served and kept.changes != pool.scheduler.changes(study.id):
                    due.append((kept.number, study))
            elif study.served:  # one that was paused before the start is believed nothing of
                due.append((-1, study))
        # Those never looked at come first, then who waited longest.
        for _, study in heapq.nsmallest(self._allowance(), due, key=_number):
            self._left -= 1.0
            found[study.id] = self._make(pool, study)
        return found

    def _allowance(self) -> int:
        now = self._clock()
        self._left = min(BURST, self._left + PER_SECOND * (now - self._since))
        self._since = now
        return int(self._left)

    def _make(self, pool: Pool, study: Study) -> Estimate:
        changes, incumbent = pool.scheduler.changes(study.id), study.incumbent
        made = shortfall(*pool.scheduler.outlook(study.id), incumbent)
        self._kept[study.id] = _Kept(self.made, changes, *made, incumbent)
        self.made += 1
        if len(self._kept) > self._tidy_at:
            self._kept = {
                name: kept for name, kept in self._kept.items() if pool.studies[name].closed is None
            }
            self._tidy_at = 2 * len(self._kept) + 1000
        return made


def _number(due: tuple[int, Study]) -> int:
    return due[0]


def _since(kept: _Kept, study: Study) -> Estimate:
    incumbent = study.incumbent
    if incumbent == kept.incumbent:
        return Estimate(kept.gap, kept.variance)
    return Estimate(max(0.0, kept.gap + kept.incumbent - incumbent), kept.variance)


def shortfall(mean: Vector, sigma: Vector, incumbent: float) -> Estimate:
    """The moments of (M - incumbent)+, where M is the highest of these Gaussians."""
    possible = np.isfinite(mean) & np.isfinite(sigma)  # what is beyond all numbers promises none
    mean, sigma = mean[possible], sigma[possible]
    if not len(mean):
        return Estimate(0.0, 0.0)
    # Below `base`, M is; above `top` it is not: what is certain needs no integral.
    base = max(incumbent, float((mean - REACH * sigma).max()))
    highest = mean + REACH * sigma
    top = float(highest.max())
    if top <= base:
        return Estimate(base - incumbent, 0.0)
    counts = highest > base
    mean, sigma = mean[counts], sigma[counts]
    gains, steps = (top - base) * _GAINS, (top - base) * _STEPS
    above = 1.0 - ndtr((base + gains[:, np.newaxis] - mean) / sigma).prod(axis=1)
    first = float(steps @ above)
    second = 2.0 * float((steps * gains) @ above)
    return Estimate(base - incumbent + first, max(0.0, second - first * first))


def mean_band(gaps: list[float], deviations: dict[int, float]) -> tuple[float, float, float]:
    """The mean of shortfalls with its 80 % band; never below zero.

    `deviations` are summed over the studies of each dataset: what shares arms errs together, what
    does not errs by itself.
    """
    if not gaps:
        return 0.0, 0.0, 0.0
    mean = sum(gaps) / len(gaps)
    spread = BAND * math.sqrt(sum(each * each for each in deviations.values())) / len(gaps)
    return mean, max(0.0, mean - spread), mean + spread
