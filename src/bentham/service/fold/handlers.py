"""What each event changes in the pool: one function per kind of event, see `table`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bentham.core.problem import events as core
from bentham.core.problem.study import ModelDescription
from bentham.service.fold import events
from bentham.service.fold.entities import (
    LOWEST,
    Dataset,
    Description,
    Device,
    Fit,
    SharedArms,
    Study,
    Tenant,
    Token,
    Trial,
    as_json,
)
from bentham.service.fold.lifecycles import ARM, FIT, STUDY, TRIAL
from bentham.service.fold.pool import Pool, dataset_key

DEPARTED = 1000
MOST_FITTED = 20  # fitted models of a tenant; the oldest are dropped

Ended = (
    events.TrialCompleted
    | events.TrialFailed
    | events.TrialLost
    | events.TrialReleased
    | events.FitCompleted
)


def pool_created(pool: Pool, time: float, event: events.PoolCreated) -> None:  # noqa: ARG001
    """Set how decisions are made."""
    pool.begin(event)


def settings_changed(pool: Pool, time: float, event: events.SettingsChanged) -> None:  # noqa: ARG001
    """Change the settings that an operator may change at every start."""
    pool.scheduler.patience = event.patience


def request_noted(pool: Pool, time: float, event: events.RequestNoted) -> None:
    """Do nothing: only its key is stored."""


def history_imported(pool: Pool, time: float, event: events.HistoryImported) -> None:
    """Add past runs, which set the prior."""
    pool.scheduler.apply(core.HistoryAdded(time, event.history))
    pool.history.append(event.history)
    for runs in event.history.values():
        pool.models.update(dict.fromkeys(runs))


def tenant_created(pool: Pool, time: float, event: events.TenantCreated) -> None:
    """Add a tenant."""
    pool.tenants[event.name] = Tenant(event.name, event.weight, event.limits, time)
    _note_limits(pool, pool.tenants[event.name])


def tenant_changed(pool: Pool, time: float, event: events.TenantChanged) -> None:
    """Change a tenant; its weight applies to all its studies at once."""
    tenant = pool.tenants[event.name]
    for study in tenant.studies.values() if event.weight != tenant.weight else ():
        if study.served:
            weight = study.weight * event.weight
            pool.scheduler.apply(core.StudyWeighted(time, study.id, weight))
    tenant.weight, tenant.limits = event.weight, event.limits
    _note_limits(pool, tenant)


def _note_limits(pool: Pool, tenant: Tenant) -> None:
    pool.limited.pop(tenant.name, None)
    if any(limit is not None for limit in tenant.limits.values()):
        pool.limited[tenant.name] = tenant


def token_issued(pool: Pool, time: float, event: events.TokenIssued) -> None:
    """Add a token."""
    pool.tokens[event.id] = Token(
        event.id, event.role, event.tenant, event.label, event.hash, time, event.expires
    )


def token_revoked(pool: Pool, time: float, event: events.TokenRevoked) -> None:
    """Mark a token as revoked, and discard its keys."""
    old = pool.tokens[event.id]
    pool.tokens[event.id] = Token(
        old.id, old.role, old.tenant, old.label, old.hash, old.created, old.expires, time
    )
    pool.keys.forget(event.id)


def dataset_added(pool: Pool, time: float, event: events.DatasetAdded) -> None:
    """Add a dataset."""
    dataset = Dataset(
        event.id, event.tenant, event.name, event.hash, event.format, event.delimiter,
        event.bytes, event.rows, len(event.columns), as_json(event.columns), tuple(event.notes),
        time,
    )  # fmt: skip
    pool.datasets[dataset.id] = pool.datasets_of(dataset.tenant)[dataset.id] = dataset


def dataset_renamed(pool: Pool, time: float, event: events.DatasetRenamed) -> None:  # noqa: ARG001
    """Give a dataset another name, also where studies on it show its name."""
    dataset = replace(pool.datasets[event.id], name=event.name)
    pool.datasets[event.id] = pool.datasets_of(event.tenant)[event.id] = dataset
    owner = pool.tenants[event.tenant] if event.tenant else pool
    for study in owner.studies.values():
        if study.data.get("dataset") == event.id:
            study.data = {**study.data, "name": event.name}


def dataset_dropped(pool: Pool, time: float, event: events.DatasetDropped) -> None:  # noqa: ARG001
    """Remove a dataset, and the fitted models of studies on it."""
    del pool.datasets[event.id], pool.datasets_of(event.tenant)[event.id]
    owner = pool.tenants[event.tenant] if event.tenant else pool
    for study in owner.studies.values():
        if study.fit is not None and study.data.get("dataset") == event.id:
            _drop_fit(pool, study)


def study_created(pool: Pool, time: float, event: events.StudyCreated) -> None:
    """Add a study, which is served from now on; scores of others on the same data count for it."""
    tenant = pool.tenants[event.tenant]
    key = dataset_key(event.tenant, event.dataset)
    shared = pool.arms.get(key)
    shared = shared or SharedArms(as_json(event.training), event.training.get("hash", ""))
    study = Study(
        event.id, tenant, event.name, event.dataset, event.metric, event.models, event.weight,
        event.floor, event.rows, event.columns, event.stop, time, shared,
        event.drawn, event.data,
    )  # fmt: skip
    for model, tried in shared.tried.items():
        if tried.score is not None:
            study.credit(model, tried.score, time)
    study.untried = sum(state == "untried" for state in study.states())
    described = {name: _description(fields) for name, fields in event.described.items()}
    pool.descriptions.update(described)
    try:
        pool.serve(time, study)
    except Exception:  # it is refused: undo what was changed
        for name in described:
            del pool.descriptions[name]
        raise
    if key not in pool.arms:
        tenant.trained_columns += len(event.training.get("columns", ()))
    pool.arms[key] = shared
    tenant.arms += len(event.models)
    tenant.models.update(dict.fromkeys(pool.counted(event.models, event.drawn)))
    pool.models.update(dict.fromkeys(event.models))
    shared.studies.append(study)
    pool.studies[study.id] = tenant.studies[study.name] = tenant.current[study.id] = study
    deadline = study.stop.get("deadline")
    if deadline is not None:
        pool.deadlines[study.id] = deadline


def study_renamed(pool: Pool, time: float, event: events.StudyRenamed) -> None:  # noqa: ARG001
    """Give a study another name; it keeps its place among the studies of its tenant."""
    study = pool.studies[event.id]
    study.name = event.name
    tenant = study.tenant
    tenant.studies = {each.name: each for each in tenant.studies.values()}


def study_paused(pool: Pool, time: float, event: events.StudyPaused) -> None:
    """Stop new trials until the study is resumed."""
    _move(pool, time, event, "paused")


def study_resumed(pool: Pool, time: float, event: events.StudyResumed) -> None:
    """Resume a paused study."""
    _move(pool, time, event, "open")


def study_closed(pool: Pool, time: float, event: events.StudyClosed) -> None:
    """Close a study."""
    study = _move(pool, time, event, "closed")
    study.reason, study.closed = event.reason, time
    study.tenant.arms -= len(study.models)
    study.tenant.closed.append(study.tenant.current.pop(study.id))
    pool.deadlines.pop(study.id, None)


def study_reopened(pool: Pool, time: float, event: events.StudyReopened) -> None:
    """Serve a closed study again; scores that arrived on its data meanwhile count for it."""
    study = pool.studies[event.id]
    study.stop = event.stop
    if event.data:
        study.data = event.data
    for model, tried in study.shared.tried.items():
        if tried.score is not None:
            study.credit(model, tried.score, time)
    _move(pool, time, event, "open")
    study.reason, study.closed = "", None
    tenant = study.tenant
    tenant.arms += len(study.models)
    tenant.closed = [each for each in tenant.closed if each is not study]
    tenant.current[study.id] = study
    deadline = study.stop.get("deadline")
    if deadline is not None:
        pool.deadlines[study.id] = deadline


def _move(
    pool: Pool,
    time: float,
    event: events.StudyPaused | events.StudyResumed | events.StudyClosed | events.StudyReopened,
    after: str,
) -> Study:
    study = pool.studies[event.id]
    study.state = STUDY.check(study.state, events.kind_of(event), after)
    pool.serve(time, study)
    return study


def _description(fields: Mapping[str, Any]) -> Description:
    kin = ModelDescription(fields["family"], fields["features"])
    standard = bool(fields.get("standard"))
    return Description(fields["algorithm"], fields["configuration"], kin, standard)


def device_registered(pool: Pool, time: float, event: events.DeviceRegistered) -> None:
    """Add a device, which is idle."""
    pool.scheduler.apply(core.DeviceAdded(time, event.name, event.kind))
    pool.devices[event.name] = Device(event.name, event.kind, event.token, time)


def device_left(pool: Pool, time: float, event: events.DeviceLeft) -> None:
    """Remove a device; the latest that left are remembered."""
    pool.scheduler.apply(core.DeviceRemoved(time, event.name))
    pool.departed[event.name] = pool.devices.pop(event.name)
    if len(pool.departed) > DEPARTED:
        del pool.departed[next(iter(pool.departed))]


def trial_leased(pool: Pool, time: float, event: events.TrialLeased) -> None:
    """Start a trial of an arm on a device."""
    decision = event.decision
    pool.scheduler.apply(core.ArmStarted(time, decision))
    study, device = pool.studies[decision.study], pool.devices[str(decision.device)]
    trial = Trial(
        event.id, decision.trial, study, decision.model, device.name, device.token,
        device.kind, event.attempt, decision.cost, time, pool.sequence + 1,
        look_above=study.shared.best_above(decision.model, study) if study.data else LOWEST,
    )  # fmt: skip
    kind, before = events.kind_of(event), study.shared.state(decision.model)
    study.shared.move(decision.model, ARM.check(before, kind, "running")).trial = trial.id
    pool.trials[trial.id] = pool.running[trial.id] = study.tenant.running[trial.id] = trial
    study.trials.append(trial)
    study.tenant.trials.append(trial)
    pool.trials_of.setdefault(device.token, []).append(trial)
    device.trial = trial
    study.counts["running"] += 1
    pool.serve(time, study)


def trial_completed(pool: Pool, time: float, event: events.TrialCompleted) -> None:
    """Record a score, which counts for every study on the same data."""
    trial = pool.trials[event.id]
    pool.scheduler.apply(core.ArmObserved(time, trial.number, event.score))
    _end(pool, time, trial, event, "complete", "observed")
    trial.score = event.score
    trial.metrics, trial.scores = tuple(event.metrics.items()), tuple(event.scores)
    shared = trial.study.shared
    shared.tried[trial.model].score = event.score
    for study in shared.studies:
        if study.state != "closed" or study is trial.study:
            study.credit(trial.model, event.score, time)
    if event.look:
        shared.keep_look(trial.model, as_json(event.look))


def trial_failed(pool: Pool, time: float, event: events.TrialFailed) -> None:
    """End a trial without a score; unless final, the arm may be tried again."""
    trial = pool.trial(event.id)
    if trial.fits:
        _lose_fit(pool, time, trial, event, "failed", event.final)
    elif event.final:
        pool.scheduler.apply(core.ArmFailed(time, trial.number, event.reason))
        _end(pool, time, trial, event, "failed", "failed")
    else:
        _give_back(pool, time, trial, event, "failed")
    trial.reason = event.reason


def trial_lost(pool: Pool, time: float, event: events.TrialLost) -> None:
    """End a trial whose lease expired or whose device left; the arm may be tried again."""
    trial = pool.trial(event.id)
    if trial.fits:
        _lose_fit(pool, time, trial, event, "lost", False)
    else:
        _give_back(pool, time, trial, event, "lost")
    trial.reason = event.reason
    trial.study.tenant.leases_lost += 1
    pool.leases_lost += 1


def trial_released(pool: Pool, time: float, event: events.TrialReleased) -> None:
    """Release a trial untried, which does not count as an attempt."""
    trial = pool.trial(event.id)
    trial.reason, trial.released = event.reason or "released by its device", True
    if trial.fits:
        fit = _end_fit(pool, time, trial, event, "lost", "waiting")
        if event.unable:
            fit.unable[trial.device] = None
        return
    pool.scheduler.apply(core.ArmReleased(time, trial.number))
    if event.unable:
        trial.study.shared.tried[trial.model].unable[trial.device] = None
    _end(pool, time, trial, event, "lost", "untried")


def _give_back(pool: Pool, time: float, trial: Trial, event: Ended, after: str) -> None:
    """End an attempt without a score; the arm may be tried again, up to the limit on attempts."""
    pool.scheduler.apply(core.ArmLost(time, trial.number))
    tried = trial.study.shared.tried[trial.model]
    tried.losses += 1
    arm = "failed" if tried.losses >= pool.attempts else "untried"
    _end(pool, time, trial, event, after, arm)


def _end(pool: Pool, time: float, trial: Trial, event: Ended, after: str, arm: str) -> None:
    study = trial.study
    kind = events.kind_of(event)
    seconds = _free(pool, time, trial, event, after)
    study.shared.move(trial.model, ARM.check(study.shared.state(trial.model), kind, arm))
    study.device_seconds += seconds
    study.counts["running"] -= 1
    study.counts[after] += 1
    pool.throughput.note(time, study.tenant.name)
    pool.serve(time, study)


def _free(pool: Pool, time: float, trial: Trial, event: Ended, after: str) -> float:
    """End a trial: its device is free, and its tenant is charged; return the device time."""
    tenant, device = trial.study.tenant, pool.devices[trial.device]
    trial.state, trial.ended = TRIAL.check(trial.state, events.kind_of(event), after), time
    del pool.running[trial.id], tenant.running[trial.id]
    seconds = max(0.0, time - trial.started)
    tenant.charge(trial.started, trial.started + seconds)
    device.trial = None
    device.busy_seconds += seconds
    return seconds


# -- fitted models


def fit_requested(pool: Pool, time: float, event: events.FitRequested) -> None:
    """Wait for a device that fits a model; the study's earlier fitted model is dropped."""
    study = pool.studies[event.id]
    _drop_fit(pool, study)
    study.fit = pool.waiting_fits[study.id] = Fit(study, event.model, time)


def fit_leased(pool: Pool, time: float, event: events.FitLeased) -> None:
    """Start a trial that fits a model; the scheduler does not know it."""
    fit, device = pool.waiting_fits.pop(event.study), pool.devices[event.device]
    study, number = fit.study, pool.sequence + 1
    fit.state = FIT.check(fit.state, events.kind_of(event), "running")
    trial = Trial(
        event.id, number, study, fit.model, device.name, device.token, device.kind,
        event.attempt, _time_of(pool, study, fit.model), time, number, fits=True,
    )  # fmt: skip
    fit.trial = trial.id
    pool.fit_trials[trial.id] = pool.running[trial.id] = study.tenant.running[trial.id] = trial
    device.trial = study.tenant.fit = trial


def fit_completed(pool: Pool, time: float, event: events.FitCompleted) -> None:
    """Record the file of a fitted model; a tenant's oldest ones are dropped."""
    trial = pool.fit_trials[event.id]
    fit = _end_fit(pool, time, trial, event, "complete", "ready")
    fit.hash, fit.bytes, fit.versions = event.hash, event.bytes, tuple(event.versions)
    fitted = trial.study.tenant.fitted
    fitted[trial.study.id] = trial.study
    while len(fitted) > MOST_FITTED:
        _drop_fit(pool, next(iter(fitted.values())))


def _time_of(pool: Pool, study: Study, model: str) -> float:
    """Return how long the model's trial took, from which its study's owner can judge the fit."""
    tried = study.shared.tried.get(model)
    trial = None if tried is None else pool.trials.get(tried.trial)
    return 0.0 if trial is None or trial.ended is None else trial.ended - trial.started


def _lose_fit(pool: Pool, time: float, trial: Trial, event: Ended, after: str, final: bool) -> None:
    """End an attempt without a file; the fit waits again, up to the limit on attempts."""
    fit = trial.study.fit
    assert fit is not None
    fit.losses += 1
    _end_fit(
        pool, time, trial, event, after,
        "failed" if final or fit.losses >= pool.attempts else "waiting",
    )  # fmt: skip


def _end_fit(pool: Pool, time: float, trial: Trial, event: Ended, after: str, state: str) -> Fit:
    fit = trial.study.fit
    assert fit is not None  # it is not replaced while its trial runs
    _free(pool, time, trial, event, after)
    fit.state = FIT.check(fit.state, events.kind_of(event), state)
    fit.reason = getattr(event, "reason", "")
    if state == "waiting":
        pool.waiting_fits[trial.study.id] = fit
    return fit


def _drop_fit(pool: Pool, study: Study) -> None:
    """Forget a study's fitted model; the service deletes its file."""
    study.fit = None
    study.tenant.fitted.pop(study.id, None)
    pool.waiting_fits.pop(study.id, None)
