"""Handlers of events about trials, which start, and end in one of four ways."""

from bentham.core.problem import events as core
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Trial
from bentham.service.fold.lifecycles import ARM, TRIAL
from bentham.service.fold.state import State

Ended = happened.TrialCompleted | happened.TrialFailed | happened.TrialLost | happened.TrialReleased


def trial_leased(state: State, time: float, event: happened.TrialLeased) -> None:
    """Start a trial of an arm on a device."""
    decision = event.decision
    state.scheduler.apply(core.TrialStarted(time, decision))
    study, device = state.studies[decision.study], state.devices[str(decision.device)]
    trial = Trial(
        event.id, decision.trial, study, decision.model, device.name, device.token,
        device.kind, event.attempt, decision.cost, time, state.sequence + 1,
    )  # fmt: skip
    kind, before = happened.kind_of(event), study.shared.state(decision.model)
    study.shared.move(decision.model, ARM.check(before, kind, "running")).trial = trial.id
    state.trials[trial.id] = state.running[trial.id] = study.tenant.running[trial.id] = trial
    study.trials.append(trial)
    study.tenant.trials.append(trial)
    state.trials_of.setdefault(device.token, []).append(trial)
    device.trial = trial
    study.counts["running"] += 1
    state.serve(time, study)


def trial_completed(state: State, time: float, event: happened.TrialCompleted) -> None:
    """Record a score, which counts for every study on the same data."""
    trial = state.trials[event.id]
    state.scheduler.apply(core.TrialCompleted(time, trial.number, event.score))
    _end(state, time, trial, event, "complete", "observed")
    trial.score = event.score
    trial.metrics, trial.scores = tuple(event.metrics.items()), tuple(event.scores)
    shared = trial.study.shared
    shared.tried[trial.model].score = event.score
    for study in shared.studies:
        if study.state != "closed" or study is trial.study:
            study.credit(trial.model, event.score, time)


def trial_failed(state: State, time: float, event: happened.TrialFailed) -> None:
    """End a trial without a score; unless final, the arm may be tried again."""
    trial = state.trials[event.id]
    if event.final:
        state.scheduler.apply(core.TrialFailed(time, trial.number, event.reason))
        _end(state, time, trial, event, "failed", "failed")
    else:
        _give_back(state, time, trial, event, "failed")
    trial.reason = event.reason


def trial_lost(state: State, time: float, event: happened.TrialLost) -> None:
    """End a trial whose lease expired or whose device left; the arm may be tried again."""
    trial = state.trials[event.id]
    _give_back(state, time, trial, event, "lost")
    trial.reason = event.reason
    trial.study.tenant.leases_lost += 1
    state.leases_lost += 1


def trial_released(state: State, time: float, event: happened.TrialReleased) -> None:
    """Release a trial untried, which does not count as an attempt."""
    trial = state.trials[event.id]
    state.scheduler.apply(core.TrialReleased(time, trial.number))
    trial.reason, trial.released = event.reason or "released by its device", True
    if event.unable:
        trial.study.shared.tried[trial.model].unable[trial.device] = None
    _end(state, time, trial, event, "lost", "untried")


def _give_back(state: State, time: float, trial: Trial, event: Ended, after: str) -> None:
    """End an attempt without a score; the arm may be tried again, up to the limit on attempts."""
    state.scheduler.apply(core.TrialLost(time, trial.number))
    tried = trial.study.shared.tried[trial.model]
    tried.losses += 1
    arm = "failed" if tried.losses >= state.attempts else "untried"
    _end(state, time, trial, event, after, arm)


def _end(state: State, time: float, trial: Trial, event: Ended, after: str, arm: str) -> None:
    study, tenant = trial.study, trial.study.tenant
    kind = happened.kind_of(event)
    trial.state, trial.ended = TRIAL.check(trial.state, kind, after), time
    study.shared.move(trial.model, ARM.check(study.shared.state(trial.model), kind, arm))
    del state.running[trial.id], tenant.running[trial.id]
    seconds = max(0.0, time - trial.started)
    tenant.charge(trial.started, trial.started + seconds)
    study.device_seconds += seconds
    device = state.devices[trial.device]
    device.trial = None
    device.busy_seconds += seconds
    study.counts["running"] -= 1
    study.counts[after] += 1
    state.throughput.note(time, tenant.name)
    state.serve(time, study)
