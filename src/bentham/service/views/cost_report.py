"""How well costs are predicted: the ratio of actual to predicted time of complete trials."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import Trial
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View

LATEST = 10_000
# The ends of the groups that show how predictions improve: trials 1 to 10, 11 to 30, and so on.
STEPS = (10, 30, 100, 300, 1000, 3000, LATEST)


def costs_view(pool: Pool, scope: Scope) -> View:
    """Return the accuracy of the cost model, over the latest trials in the scope."""
    trials = list(islice(_timed(scope.trials(state="complete")), LATEST))[::-1]
    return {
        "trials": len(trials),
        "all": _group("all", trials) if trials else None,
        "kinds": _groups((trial.kind or "unnamed", trial) for trial in trials),
        "algorithms": _groups((_algorithm(pool, trial), trial) for trial in trials),
        "learning": [
            _group(f"{start + 1}-{start + len(part)}", part)
            for start, end in zip((0, *STEPS), STEPS, strict=False)
            if (part := trials[start:end])
        ],
    }


def _timed(trials: Iterable[Trial]) -> Iterator[Trial]:
    return (trial for trial in trials if trial.ended is not None and trial.ended > trial.started)


def _algorithm(pool: Pool, trial: Trial) -> str:
    described = pool.descriptions.get(trial.model) if trial.study.drawn else None
    return trial.model if described is None else described.algorithm


def _groups(named: Iterable[tuple[str, Trial]]) -> list[View]:
    groups: dict[str, list[Trial]] = {}
    for name, trial in named:
        groups.setdefault(name, []).append(trial)
    return [_group(name, groups[name]) for name in sorted(groups)]


def _group(name: str, trials: list[Trial]) -> View:
    ratios = np.array([((trial.ended or 0.0) - trial.started) / trial.cost for trial in trials])
    off = np.abs(np.log(ratios))
    low, median, high = np.quantile(ratios, (0.1, 0.5, 0.9)).tolist()
    return {
        "group": name,
        "trials": len(trials),
        "median": median,
        "low": low,
        "high": high,
        "within_half": float(np.mean(off <= np.log(1.5))),
        "within_double": float(np.mean(off <= np.log(2.0))),
    }
