"""Regret over time: how far studies were from their best score at each past moment.

A study's best score is its current estimate; its incumbent is what it was at that moment. At each
moment, the studies count that were created and not closed.
"""

import heapq
from collections.abc import Sequence
from math import inf

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.theory.regret import PastRegret, open_at
from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View
from bentham.service.views.estimates import BAND, Estimates
from bentham.service.views.round_robin import Replay

# Limits the work of one request, which includes all studies that are not closed.
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
    """Return mean regret over the last `seconds`, or all time, with its band, and by round robin.

    If more than MOST_CLOSED studies have closed since, it begins later, because all requests wait
    for it. Takes four milliseconds for a thousand studies, a quarter of that for round robin.
    """
    since = max(_beginning(scope, now), -inf if seconds is None else now - seconds)
    closed, since = _lately_closed(scope, since)
    studies = [*scope.current(), *closed]
    grid = np.linspace(since, now, points) if now > since else np.array([now])
    known = estimates.estimate(pool, studies)
    counts = open_at(grid, *_lives(studies))
    estimated = [study for study in studies if study.id in known]
    created, closed_at = _lives(estimated)
    start = np.array([study.start for study in estimated])
    past = PastRegret(grid, created, closed_at, start)
    bests = np.array([study.incumbent + known[study.id].gap for study in estimated])
    deviations = np.array([known[study.id].variance for study in estimated]) ** 0.5
    mean = past.mean(bests, [study.improvements for study in estimated])
    # Errors of studies on the same data are correlated, others are independent.
    groups = np.unique([id(study.shared) for study in estimated], return_inverse=True)[1]
    spread = BAND * past.deviation(deviations, groups)
    turns = None
    if replay is not None and scope.everything:
        turns = past.mean(bests, [replay.of(study) for study in estimated])
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
    """Return the studies closed since then, and the time since when the list is complete."""
    newest_first = (reversed(tenant.closed) for tenant in scope.tenants())
    found: list[Study] = []
    for study in heapq.merge(*newest_first, key=_closed, reverse=True):
        if _closed(study) <= since:
            break
        if len(found) == MOST_CLOSED:
            return found, _closed(study)
        found.append(study)
    return found, since


def _lives(studies: Sequence[Study]) -> tuple[Vector, Vector]:
    """Return when each study was created, and when it was closed."""
    created = np.array([study.created for study in studies])
    return created, np.array([_closed(study) for study in studies])


def _closed(study: Study) -> float:
    return inf if study.closed is None else study.closed
