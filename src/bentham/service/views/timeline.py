"""Who ran what, when, on which device."""

from itertools import islice

from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import Trial
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View

# Trials stand in the order of their starts. One that began before the time asked for may have
# ended within it: so many more are looked at, which is as far back as devices keep in step.
FURTHER = 1000


def timeline_view(pool: Pool, scope: Scope, now: float, seconds: float, limit: int) -> View:
    """The trials that ran in the last seconds, the newest first, at most so many, and devices.

    Those that still run come before all others, however long they have. Takes a microsecond for
    each trial shown and a tenth for each looked at, whatever the number of all trials.
    """
    since = now - seconds
    running = [trial for tenant in scope.tenants() for trial in tenant.running.values()]
    ended: list[Trial] = []
    wanted = max(0, limit - len(running))
    before = 0
    for trial in scope.trials():
        if trial.ended is not None and trial.ended >= since:
            ended.append(trial)
        elif trial.started < since:
            before += 1
        if len(ended) > wanted or before > FURTHER:
            break
    cut = len(running) + len(ended) > limit
    running.sort(key=_number, reverse=True)
    shown = [*islice(running, limit), *ended[:wanted]]
    shown.sort(key=_number, reverse=True)
    return {
        "time": now,
        "since": since,
        "devices": _devices(pool, scope, shown),
        "trials": [_run_view(trial) for trial in shown],
        "cut": cut,
    }


def _number(trial: Trial) -> int:
    return trial.number


def _devices(pool: Pool, scope: Scope, shown: list[Trial]) -> list[View]:
    """All devices and those that have left, for an operator; else those of the trials shown.

    A tenant's are busy while they run a trial of its own: whom they serve else is not told.
    """
    kinds = {trial.device: trial.kind for trial in reversed(shown)}
    busy = {trial.device for trial in shown if trial.state == "running"}
    if scope.everything:
        kinds.update((name, device.kind) for name, device in pool.devices.items())
        busy = {trial.device for trial in pool.running.values()}
    return [{"name": name, "kind": kinds[name], "busy": name in busy} for name in sorted(kinds)]


def _run_view(trial: Trial) -> View:
    study = trial.study
    return {
        "id": trial.id,
        "tenant": study.tenant.name,
        "study": study.id,
        "name": study.name,
        "model": trial.model,
        "device": trial.device,
        "state": trial.state,
        "started": trial.started,
        "ended": trial.ended,
        "cost": trial.cost,
        "score": trial.score,
        "reason": trial.reason,
    }
