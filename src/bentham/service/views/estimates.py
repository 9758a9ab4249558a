"""How far studies are believed to be from their best model: `Scheduler.shortfall`, cached.

Computing all of them with every request would hold up everybody's requests.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bentham.core.gaussian.shortfall import Shortfall
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool

# At most this many are computed for one request, and this many per second for all requests: one
# takes about half a millisecond, and other requests wait meanwhile.
BURST, PER_SECOND = 20, 40
# The quantile of a normal distribution that an 80 % band reaches to.
BAND = 1.2815515594457831


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

    def estimate(self, pool: Pool, studies: Iterable[Study]) -> dict[str, Shortfall]:
        """What is believed of each study's shortfall; closed ones have all that they will have.

        A microsecond each, and up to BURST new ones.
        """
        if pool is not self._pool:  # what another log led to
            self._pool = pool
            self._kept.clear()
        found: dict[str, Shortfall] = {}
        due: list[tuple[int, Study]] = []
        for study in studies:
            if study.state == "closed":
                found[study.id] = Shortfall(0.0, 0.0)
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

    def _make(self, pool: Pool, study: Study) -> Shortfall:
        changes, incumbent = pool.scheduler.changes(study.id), study.incumbent
        made = pool.scheduler.shortfall(study.id)
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


def _since(kept: _Kept, study: Study) -> Shortfall:
    incumbent = study.incumbent
    if incumbent == kept.incumbent:
        return Shortfall(kept.gap, kept.variance)
    return Shortfall(max(0.0, kept.gap + kept.incumbent - incumbent), kept.variance)


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
