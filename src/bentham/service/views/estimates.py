"""Estimates of how far each study is from its best model: `Scheduler.shortfall`, cached.

Computing all of them for every request would delay all requests.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bentham.core.gaussian.shortfall import Shortfall
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool

# The maximum number computed for one request, and per second for all requests: each takes about
# half a millisecond, during which other requests wait.
BURST, PER_SECOND = 20, 40
# Half the width of an 80 % band, in standard deviations of a normal distribution.
BAND = 1.2815515594457831


class _Cached(NamedTuple):
    """An estimate: its number, and the study's change counter and incumbent at that time."""

    number: int
    changes: int
    gap: float
    variance: float
    incumbent: float


class Estimates:
    """Shortfalls of studies, each cached until the posterior of its dataset changes.

    All requests wait while they are computed, so one request computes only some of them. The
    others keep their cached values, less what their incumbents gained since, and are computed
    later. A study has no estimate before its first turn, or if it was paused before the start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cache: dict[str, _Cached] = {}
        self._pool: Pool | None = None
        self._budget, self._refilled = float(BURST), clock()  # a token bucket
        self._prune_at = 0  # the size at which closed studies are removed from the cache
        self.made = 0  # the number of estimates computed so far

    def estimate(self, pool: Pool, studies: Iterable[Study]) -> dict[str, Shortfall]:
        """Return the estimated shortfall of each study; 0 for closed ones, which gain no more.

        Takes a microsecond for each study, and computes up to BURST estimates.
        """
        if pool is not self._pool:  # the state was discarded and computed from the log again
            self._pool = pool
            self._cache.clear()
        estimates: dict[str, Shortfall] = {}
        due: list[tuple[int, Study]] = []
        for study in studies:
            if study.state == "closed":
                estimates[study.id] = Shortfall(0.0, 0.0)
                continue
            cached = self._cache.get(study.id)
            if cached is not None:
                estimates[study.id] = _adjusted(cached, study)
                if study.served and cached.changes != pool.scheduler.changes(study.id):
                    due.append((cached.number, study))
            elif study.served:  # otherwise the scheduler does not know it
                due.append((-1, study))
        # Studies without an estimate come first, then the oldest estimates.
        for _, study in heapq.nsmallest(self._allowance(), due, key=_number):
            self._budget -= 1.0
            estimates[study.id] = self._compute(pool, study)
        return estimates

    def _allowance(self) -> int:
        now = self._clock()
        self._budget = min(BURST, self._budget + PER_SECOND * (now - self._refilled))
        self._refilled = now
        return int(self._budget)

    def _compute(self, pool: Pool, study: Study) -> Shortfall:
        changes, incumbent = pool.scheduler.changes(study.id), study.incumbent
        shortfall = pool.scheduler.shortfall(study.id)
        self._cache[study.id] = _Cached(self.made, changes, *shortfall, incumbent)
        self.made += 1
        if len(self._cache) > self._prune_at:
            self._cache = {
                name: cached
                for name, cached in self._cache.items()
                if pool.studies[name].closed is None
            }
            self._prune_at = 2 * len(self._cache) + 1000
        return shortfall


def _number(due: tuple[int, Study]) -> int:
    return due[0]


def _adjusted(cached: _Cached, study: Study) -> Shortfall:
    """Return a cached estimate, less what the incumbent has gained since."""
    incumbent = study.incumbent
    if incumbent == cached.incumbent:
        return Shortfall(cached.gap, cached.variance)
    return Shortfall(max(0.0, cached.gap + cached.incumbent - incumbent), cached.variance)


def mean_band(gaps: list[float], deviations: dict[int, float]) -> tuple[float, float, float]:
    """Return the mean of shortfalls and its 80 % band, which is never below zero.

    `deviations` are summed over the studies of each dataset: the errors of studies that share arms
    are taken as fully correlated, those of others as independent.
    """
    if not gaps:
        return 0.0, 0.0, 0.0
    mean = sum(gaps) / len(gaps)
    spread = BAND * math.sqrt(sum(each * each for each in deviations.values())) / len(gaps)
    return mean, max(0.0, mean - spread), mean + spread
