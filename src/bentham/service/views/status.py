"""What runs now, for whom, and why nothing else does."""

from heapq import nlargest, nsmallest
from itertools import chain, islice

from bentham.service.engine.turn import Look
from bentham.service.fold.entities import Study
from bentham.service.views.entities import View
from bentham.service.views.next import idle_reason
from bentham.service.views.timeline import run_view

LATELY_SECONDS = 3600.0


def status_view(look: Look, limit: int) -> View:
    """Return the running trials, the studies and the other devices, up to `limit` of each.

    Takes a microsecond for each study that is not closed and each trial that runs.
    """
    tenants = look.scope.tenants()
    current = [study for tenant in tenants for study in tenant.current.values()]
    running = [trial for tenant in tenants for trial in tenant.running.values()]
    shown = nlargest(limit, current, key=lambda study: study.created)
    own = look.scope.tenant_name
    closed = () if own is None else chain.from_iterable(reversed(each.closed) for each in tenants)
    studies = [*shown, *islice(closed, limit - len(shown))]
    first = nsmallest(limit, running, key=lambda trial: trial.device)
    return {
        "time": look.now,
        "running": [run_view(trial) for trial in first],
        "running_count": len(running),
        "studies": [_study_view(look, study) for study in studies],
        "study_count": len(current),
        "idle": [] if own else _idle(look, limit),
        "away": [] if own else _away(look, limit),
    }


def _study_view(look: Look, study: Study) -> View:
    model, best = study.best or ("", None)
    tried = study.shared.tried.get(model)
    trial = None if tried is None else look.pool.trials.get(tried.trial)
    running = study.counts["running"]
    return {
        "study": study.id,
        "tenant": study.tenant.name,
        "name": study.name,
        "state": study.state,
        "metric": study.metric,
        "floor": study.floor,
        "best": best,
        "measured": None if trial is None else dict(trial.metrics).get(study.metric),
        "model": model,
        "gained": study.incumbent - _score_at(study, look.now - LATELY_SECONDS),
        "models": len(study.models),
        "tried": len(study.models) - study.untried - running,
        "running": running,
        "reason": idle_reason(look, study),
    }


def _score_at(study: Study, time: float) -> float:
    """Return the score that a study had at a time: what it gained since is counted from there."""
    before = [score for reached, score in study.improvements if reached <= time]
    return before[-1] if before else study.start


def _idle(look: Look, limit: int) -> list[str]:
    if look.leases.present <= len(look.pool.running):
        return []
    away, devices = look.leases.away, look.pool.devices.values()
    idle = (each.name for each in devices if each.trial is None and each.name not in away)
    return sorted(islice(idle, limit))


def _away(look: Look, limit: int) -> list[View]:
    return [
        {"name": name, "since": look.leases.away_since(name)}
        for name in islice(look.leases.away, limit)
    ]
