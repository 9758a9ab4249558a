"""Regret over time: how far studies were, at each past moment, from the best that they can have.

A study's best is what is believed of it now; its incumbent then is what it was. At each moment
those studies count that were there: created, and not closed.
"""

import heapq
from collections.abc import Callable, Sequence
from itertools import chain
from math import inf

import numpy as np

from bentham.core.gaussian.validation import Integers, Vector
from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View
from bentham.service.views.estimates import BAND, Estimates
from bentham.service.views.round_robin import Improvements, Replay

# With those that are not closed these are all that a look has to go through.
MOST_CLOSED = 2000


def trend_view(
    pool: Pool,
    scope: Scope,
    estimates: Estimates,
    now: float,
    seconds: float | None,
    points: int,
    replay: Replay | None = None,
) -> View:
    """Mean regret over the last seconds, or over all time, with its band, and by round robin.

    It begins later where more than MOST_CLOSED studies were closed since: everybody waits for it.
    Four milliseconds for a thousand studies, a fourth of them for round robin.
    """
    since = max(_beginning(scope, now), -inf if seconds is None else now - seconds)
    closed, since = _lately_closed(scope, since)
    studies = [*scope.current(), *closed]
    grid = np.linspace(since, now, points) if now > since else np.array([now])
    known = estimates.estimate(pool, studies)
    counts = _present(grid, studies)
    believed = [study for study in studies if study.id in known]
    curves = _Curves(grid, believed)
    bests = np.array([study.incumbent + known[study.id].gap for study in believed])
    deviations = np.array([known[study.id].variance for study in believed]) ** 0.5
    mean = curves.regret(bests, lambda study: study.improvements)
    spread = BAND * curves.deviation(deviations)
    turns = None
    if replay is not None and scope.everything:
        turns = curves.regret(bests, replay.of)
    return {
        "time": now,
        "since": since,
        "times": _short(grid, 3),
        "regret": _short(mean),
        "low": _short(np.maximum(mean - spread, 0.0)),
        "high": _short(mean + spread),
        "studies": counts.tolist(),
        "round_robin": None if turns is None else _short(turns),
    }


def _short(values: Vector, digits: int = 9) -> list[float]:
    shortened: list[float] = np.round(values, digits).tolist()
    return shortened


def _beginning(scope: Scope, now: float) -> float:
    firsts = (next(iter(tenant.studies.values()), None) for tenant in scope.tenants())
    return min((study.created for study in firsts if study is not None), default=now)


def _lately_closed(scope: Scope, since: float) -> tuple[list[Study], float]:
    """The studies that were closed since then, and since when these are all of them."""
    newest_first = (reversed(tenant.closed) for tenant in scope.tenants())
    found: list[Study] = []
    for study in heapq.merge(*newest_first, key=_closed, reverse=True):
        if _closed(study) <= since:
            break
        if len(found) == MOST_CLOSED:
            return found, _closed(study)
        found.append(study)
    return found, since


def _present(grid: Vector, studies: Sequence[Study]) -> Integers:
    """How many of the studies were there at each time."""
    came = np.sort(np.array([study.created for study in studies]))
    left = np.sort(np.array([_closed(study) for study in studies]))
    return np.searchsorted(came, grid, "right") - np.searchsorted(left, grid, "right")


def _closed(study: Study) -> float:
    return inf if study.closed is None else study.closed


class _Curves:
    """Means over studies at each time of a grid, added up from what changes at which time."""

    def __init__(self, grid: Vector, studies: Sequence[Study]):
        self._grid, self._studies = grid, studies
        self._closed = np.array([_closed(study) for study in studies])
        self._start = np.array([study.start for study in studies])
        self._created = np.array([study.created for study in studies])
        self._count = np.maximum(_present(grid, studies), 1)

    def regret(self, bests: Vector, improvements: Callable[[Study], Improvements]) -> Vector:
        """The mean of best less incumbent."""
        steps = [improvements(study) for study in self._studies]
        lengths = np.array([len(own) for own in steps], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(chain.from_iterable(steps)), np.float64)
        times, scores = flat[0::2], flat[1::2]
        owner = np.repeat(np.arange(len(steps)), lengths)
        before = np.empty_like(scores)
        before[1:] = scores[:-1]
        begun = lengths > 0
        before[(np.cumsum(lengths) - lengths)[begun]] = self._start[begun]
        # What comes once a study is closed is of no account.
        gains = np.where(times <= self._closed[owner], scores - before, 0.0)
        gained = np.bincount(owner, gains, minlength=len(steps))
        total = (
            self._added(self._created, bests - self._start)
            - self._added(times, gains)
            - self._added(self._closed, bests - self._start - gained)
        )
        return np.maximum(total, 0.0) / self._count

    def deviation(self, deviations: Vector) -> Vector:
        """The deviation of the mean: studies over the same data err together, others do not.

        Closed studies have none, so whoever has one is there from its creation on.
        """
        group = np.unique([id(study.shared) for study in self._studies], return_inverse=True)[1]
        order = np.lexsort((self._created, group))
        group, own = group[order], deviations[order]
        total = np.cumsum(own)
        first = np.searchsorted(group, group)  # where each one's group begins
        within = total - (total - own)[first]
        squares = within**2 - (within - own) ** 2
        variance = self._added(self._created[order], squares)
        return np.sqrt(np.maximum(variance, 0.0)) / self._count

    def _added(self, times: Vector, amounts: Vector) -> Vector:
        """The sum, at each time of the grid, of the amounts that came until then."""
        places = np.searchsorted(self._grid, times)
        size = len(self._grid)
        return np.cumsum(np.bincount(places, amounts, minlength=size + 1)[:size])
