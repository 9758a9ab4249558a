"""The timeline: which trial ran when, on which device."""

from itertools import islice

from bentham.service.engine.leases import Leases
from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import Trial
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View

# Trials are ordered by their starts. One that started before the requested time may have ended
# within it, so up to this many of those are checked as well; older ones are missed.
FURTHER = 1000


def timeline_view(
    pool: Pool, scope: Scope, leases: Leases, now: float, seconds: float, limit: int
) -> View:
    """Return the trials that ran in the last `seconds`, newest first, up to `limit`, and devices.

    Running trials are included first, however long they have run. Takes a microsecond for each
    trial shown and a tenth of one for each trial checked, whatever the total number of trials.
    """
    since = now - seconds
    running = [
        trial
        for tenant in scope.tenants()
        for trial in tenant.running.values()
        if not trial.fits  # the timeline is about decisions
    ]
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
        "devices": _devices(pool, scope, leases, shown),
        "trials": [run_view(trial) for trial in shown],
        "cut": cut,
    }


def _number(trial: Trial) -> int:
    return trial.number


def _devices(pool: Pool, scope: Scope, leases: Leases, shown: list[Trial]) -> list[View]:
    """Return the devices of the trials shown; for an operator, also all that are present.

    For a tenant, a device is busy only while it runs a trial of that tenant: its use by others is
    not revealed.
    """
    kinds = {trial.device: trial.kind for trial in reversed(shown)}
    busy = {trial.device for trial in shown if trial.state == "running"}
    away = leases.away if scope.everything else ()
    if scope.everything:
        kinds.update(
            (name, device.kind) for name, device in pool.devices.items() if name not in leases.away
        )
        busy = {trial.device for trial in pool.running.values()}
    return [
        {"name": name, "kind": kinds[name], "busy": name in busy, "away": name in away}
        for name in sorted(kinds)
    ]


def run_view(trial: Trial) -> View:
    """Return a trial of a timeline."""
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
