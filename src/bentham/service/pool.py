"""The fold: everything that the service knows, as the events of its log made it.

`apply` takes in one event. Whoever calls it has checked the event against the state (`commands`
does), so that it can be applied whole; the scheduler, which checks for itself, comes first.

Time enters with the events only. Studies go by their ids to the scheduler, and datasets by their
tenant and name: tenants that happen to name a dataset alike share nothing.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from bentham.core import DEFAULT_ATTEMPTS, LearnedPrior, Scheduler, prior_from
from bentham.core import events as core
from bentham.core.problem import ModelDescription
from bentham.core.problem import Study as Spec
from bentham.errors import InvalidRecording
from bentham.service import events as happened
from bentham.service.entities import (
    Arms,
    Dataset,
    Description,
    Device,
    Study,
    Tenant,
    Token,
    Trial,
    Tried,
)
from bentham.service.keys import Keys
from bentham.service.throughput import Throughput

DEPARTED = 1000


def dataset_key(tenant: str, dataset: str) -> str:
    """What a tenant's dataset is called in the scheduler; a tenant's name has no slash."""
    return f"{tenant}/{dataset}"


class Pool:
    """Tenants, tokens, studies, devices, trials, and the scheduler that serves them."""

    def __init__(self) -> None:
        self.sequence = 0
        self.time = 0.0
        self.created: happened.PoolCreated | None = None
        self.tenants: dict[str, Tenant] = {}
        self.tokens: dict[str, Token] = {}
        self.studies: dict[str, Study] = {}
        self.devices: dict[str, Device] = {}
        self.departed: dict[str, Device] = {}  # a few that left, for whoever asks again
        self.trials: dict[str, Trial] = {}  # in the order of their numbers
        self.running: dict[str, Trial] = {}
        self.trials_of: dict[str, list[Trial]] = {}  # by the token whose devices ran them
        self.datasets: dict[str, Dataset] = {}  # by id
        self.arms: dict[str, Arms] = {}  # of studies, by `dataset_key`
        self.descriptions: dict[str, Description] = {}  # what models stand for
        self.history: list[Mapping[str, Mapping[str, tuple[float, float | None]]]] = []
        self.keys = Keys()
        self.throughput = Throughput()
        self.leases_lost = 0
        self.models: dict[str, None] = {}  # ever listed, or in the history
        self.limited: dict[str, Tenant] = {}  # tenants that have any limit
        self.deadlines: dict[str, float] = {}  # of open or paused studies
        self._scheduler: Scheduler | None = None
        self._attempts = DEFAULT_ATTEMPTS

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the core."""
        if self._scheduler is None:
            raise InvalidRecording("the log does not begin with pool-created; it is no log of ours")
        return self._scheduler

    def apply(
        self, sequence: int, time: float, event: happened.Event, actor: str = "", key: str = ""
    ) -> None:
        """Take in one event of the log."""
        if sequence != self.sequence + 1:
            raise InvalidRecording(f"event {sequence} follows {self.sequence}; the log has a gap")
        self._HANDLERS[type(event)](self, time, event)
        self.sequence, self.time = sequence, time
        owner = self.owner(event)
        if owner:
            self.tenants[owner].events += 1
        if key:
            kind = happened.kind_of(event)
            self.keys.note(key, actor, kind, self.subject(event), time)
            if isinstance(event, happened.TrialLeased):
                self.trials[event.id].key = key

    def barred(self, now: float) -> dict[str, str]:
        """The tenants that may not be served now, each with the limit that it has reached."""
        reached = ((name, tenant.reached_limit(now)) for name, tenant in self.limited.items())
        return {name: limit for name, limit in reached if limit is not None}

    def subject(self, event: happened.Event) -> str:
        """What the event is about, by its id or name."""
        if isinstance(event, happened.HistoryImported):
            return str(len(self.history) - 1)
        return str(getattr(event, "id", None) or getattr(event, "name", ""))

    def owner(self, event: happened.Event) -> str:
        """The tenant whom the event concerns, empty if it is the operator's own affair."""
        if isinstance(event, happened.TenantCreated | happened.TenantChanged):
            return event.name
        if isinstance(
            event, happened.StudyCreated | happened.DatasetAdded | happened.DatasetDropped
        ):
            return event.tenant
        if isinstance(event, happened.TrialLeased):
            return self.studies[event.decision.study].tenant.name
        if isinstance(event, happened.RequestNoted):
            return ""
        name = getattr(event, "id", "")
        if name in self.studies:
            return self.studies[name].tenant.name
        return self.trials[name].study.tenant.name if name in self.trials else ""

    # -- the pool itself

    def _pool_created(self, time: float, event: happened.PoolCreated) -> None:  # noqa: ARG002
        prior = LearnedPrior() if event.prior is None else prior_from(event.prior)
        self.created, self._attempts = event, event.attempts
        self._scheduler = Scheduler(
            prior,
            event.policy,
            warm_start=event.warm_start,
            cost_exponent=event.cost_exponent,
            seed=event.seed,
            attempts=event.attempts,
        )

    def _settings_changed(self, time: float, event: happened.SettingsChanged) -> None:  # noqa: ARG002
        self.scheduler.patience = event.patience

    def _request_noted(self, time: float, event: happened.RequestNoted) -> None:
        """Nothing but that its key is known."""

    def _history_imported(self, time: float, event: happened.HistoryImported) -> None:
        self.scheduler.apply(core.HistoryAdded(time, event.history))
        self.history.append(event.history)
        for runs in event.history.values():
            self.models.update(dict.fromkeys(runs))

    # -- tenants and tokens

    def _tenant_created(self, time: float, event: happened.TenantCreated) -> None:
        self.tenants[event.name] = Tenant(event.name, event.weight, event.limits, time)
        self._note_limits(self.tenants[event.name])

    def _tenant_changed(self, time: float, event: happened.TenantChanged) -> None:
        tenant = self.tenants[event.name]
        for study in tenant.studies.values() if event.weight != tenant.weight else ():
            if study.served:
                weight = study.weight * event.weight
                self.scheduler.apply(core.StudyWeighted(time, study.id, weight))
        tenant.weight, tenant.limits = event.weight, event.limits
        self._note_limits(tenant)

    def _note_limits(self, tenant: Tenant) -> None:
        self.limited.pop(tenant.name, None)
        if any(limit is not None for limit in tenant.limits.values()):
            self.limited[tenant.name] = tenant

    def _token_issued(self, time: float, event: happened.TokenIssued) -> None:
        self.tokens[event.id] = Token(
            event.id, event.role, event.tenant, event.label, event.hash, time, event.expires
        )

    def _token_revoked(self, time: float, event: happened.TokenRevoked) -> None:
        old = self.tokens[event.id]
        self.tokens[event.id] = Token(
            old.id, old.role, old.tenant, old.label, old.hash, old.created, old.expires, time
        )
        self.keys.forget(event.id)

    # -- datasets and models

    def _dataset_added(self, time: float, event: happened.DatasetAdded) -> None:
        made = Dataset(
            event.id, event.tenant, event.name, event.hash, event.format, event.delimiter,
            event.bytes, event.rows, len(event.columns), _json(event.columns), tuple(event.notes),
            time,
        )  # fmt: skip
        self.datasets[made.id] = made
        if made.tenant:
            self.tenants[made.tenant].datasets[made.id] = made

    def _dataset_dropped(self, time: float, event: happened.DatasetDropped) -> None:  # noqa: ARG002
        del self.datasets[event.id]
        if event.tenant:
            del self.tenants[event.tenant].datasets[event.id]

    def _models_described(self, time: float, event: happened.ModelsDescribed) -> None:  # noqa: ARG002
        for name, said in event.models.items():
            kin = ModelDescription(said["family"], said["features"])
            self.descriptions[name] = Description(said["algorithm"], said["configuration"], kin)

    # -- studies

    def _study_created(self, time: float, event: happened.StudyCreated) -> None:
        tenant = self.tenants[event.tenant]
        key = dataset_key(event.tenant, event.dataset)
        shared = self.arms.get(key)
        if shared is None:
            said = event.training
            shared = Arms(_json(said), said.get("name", ""), said.get("hash", ""))
            tenant.trained_columns += len(said.get("columns", ()))
        study = Study(
            event.id, tenant, event.name, event.dataset, event.metric, event.models, event.weight,
            event.floor, event.rows, event.columns, event.stop, time, shared,
            event.drawn,
        )  # fmt: skip
        for model, tried in shared.tried.items():
            if tried.score is not None:
                study.credit(model, tried.score)
        self._serve(time, study)
        self.arms[key] = shared
        tenant.arms += len(event.models)
        tenant.models.update(dict.fromkeys(event.models))
        self.models.update(dict.fromkeys(event.models))
        shared.studies.append(study)
        self.studies[study.id] = tenant.studies[study.name] = study
        deadline = study.stop.get("deadline")
        if deadline is not None:
            self.deadlines[study.id] = deadline

    def _study_paused(self, time: float, event: happened.StudyPaused) -> None:
        self._move(time, self.studies[event.id], "paused")

    def _study_resumed(self, time: float, event: happened.StudyResumed) -> None:
        self._move(time, self.studies[event.id], "open")

    def _study_closed(self, time: float, event: happened.StudyClosed) -> None:
        study = self.studies[event.id]
        study.reason = event.reason
        study.tenant.arms -= len(study.models)
        self.deadlines.pop(study.id, None)
        self._move(time, study, "closed")

    def _move(self, time: float, study: Study, state: str) -> None:
        study.state = state
        self._serve(time, study)

    def _serve(self, time: float, study: Study) -> None:
        """Let the scheduler know the study, or know it no longer, as its state demands."""
        wanted = study.state == "open" and not study.full
        if wanted == study.served:
            return
        if wanted:
            spec = Spec(
                study.id,
                study.models,
                dataset_key(study.tenant.name, study.dataset),
                study.weight * study.tenant.weight,
                study.floor,
                study.rows,
                study.columns,
                study.tenant.name,
                {model: self.descriptions[model].kin for model in study.models}
                if study.drawn
                else {},
            )
            self.scheduler.apply(core.StudyAdded(time, spec))
        else:
            self.scheduler.apply(core.StudyRemoved(time, study.id))
        study.served = wanted

    # -- devices

    def _device_registered(self, time: float, event: happened.DeviceRegistered) -> None:
        self.scheduler.apply(core.DeviceAdded(time, event.name, event.kind))
        self.devices[event.name] = Device(event.name, event.kind, event.token, time)

    def _device_left(self, time: float, event: happened.DeviceLeft) -> None:
        self.scheduler.apply(core.DeviceRemoved(time, event.name))
        self.departed[event.name] = self.devices.pop(event.name)
        if len(self.departed) > DEPARTED:
            del self.departed[next(iter(self.departed))]

    # -- trials

    def _trial_leased(self, time: float, event: happened.TrialLeased) -> None:
        decision = event.decision
        self.scheduler.apply(core.TrialStarted(time, decision))
        study, device = self.studies[decision.study], self.devices[str(decision.device)]
        trial = Trial(
            event.id, decision.trial, study, decision.model, device.name, device.token,
            device.kind, event.attempt, decision.cost, time, self.sequence + 1,
        )  # fmt: skip
        tried = study.shared.tried.setdefault(decision.model, Tried())
        tried.state = "running"
        self.trials[trial.id] = self.running[trial.id] = study.tenant.running[trial.id] = trial
        study.trials.append(trial)
        study.tenant.trials.append(trial)
        self.trials_of.setdefault(device.token, []).append(trial)
        device.trial = trial
        study.counts["running"] += 1
        self._serve(time, study)

    def _trial_completed(self, time: float, event: happened.TrialCompleted) -> None:
        trial = self.trials[event.id]
        self.scheduler.apply(core.TrialCompleted(time, trial.number, event.score))
        self._end(time, trial, "complete", "observed")
        trial.score = event.score
        if event.metrics:
            trial.metrics = event.metrics
        trial.scores = tuple(event.scores)
        shared = trial.study.shared
        tried = shared.tried[trial.model]
        tried.score, tried.trial = event.score, trial.id
        for study in shared.studies:
            if study.state != "closed" or study is trial.study:
                study.credit(trial.model, event.score)

    def _trial_failed(self, time: float, event: happened.TrialFailed) -> None:
        trial = self.trials[event.id]
        if event.final:
            self.scheduler.apply(core.TrialFailed(time, trial.number, event.reason))
            self._end(time, trial, "failed", "failed")
        else:
            self._return(time, trial, "failed")
        trial.reason = event.reason

    def _trial_lost(self, time: float, event: happened.TrialLost) -> None:
        trial = self.trials[event.id]
        self._return(time, trial, "lost")
        trial.reason = event.reason
        trial.study.tenant.leases_lost += 1
        self.leases_lost += 1

    def _trial_released(self, time: float, event: happened.TrialReleased) -> None:
        trial = self.trials[event.id]
        self.scheduler.apply(core.TrialReleased(time, trial.number))
        trial.reason, trial.released = "released by its device", True
        self._end(time, trial, "lost", "untried")

    def _return(self, time: float, trial: Trial, state: str) -> None:
        """A trial brought nothing; its arm may be tried again, up to the attempts set."""
        self.scheduler.apply(core.TrialLost(time, trial.number))
        tried = trial.study.shared.tried[trial.model]
        tried.losses += 1
        self._end(time, trial, state, "failed" if tried.losses >= self._attempts else "untried")

    def _end(self, time: float, trial: Trial, state: str, arm: str) -> None:
        study, tenant = trial.study, trial.study.tenant
        trial.state, trial.ended = state, time
        study.shared.tried[trial.model].state = arm
        study.shared.changes += 1
        del self.running[trial.id], tenant.running[trial.id]
        seconds = max(0.0, time - trial.started)
        tenant.charge(trial.started, trial.started + seconds)
        study.device_seconds += seconds
        device = self.devices[trial.device]
        device.trial = None
        device.busy_seconds += seconds
        study.counts["running"] -= 1
        study.counts[state] += 1
        self.throughput.note(time, tenant.name)
        self._serve(time, study)

    _HANDLERS: ClassVar[dict[type, Callable[..., Any]]] = {
        happened.PoolCreated: _pool_created,
        happened.SettingsChanged: _settings_changed,
        happened.RequestNoted: _request_noted,
        happened.HistoryImported: _history_imported,
        happened.TenantCreated: _tenant_created,
        happened.TenantChanged: _tenant_changed,
        happened.TokenIssued: _token_issued,
        happened.TokenRevoked: _token_revoked,
        happened.DatasetAdded: _dataset_added,
        happened.DatasetDropped: _dataset_dropped,
        happened.ModelsDescribed: _models_described,
        happened.StudyCreated: _study_created,
        happened.StudyPaused: _study_paused,
        happened.StudyResumed: _study_resumed,
        happened.StudyClosed: _study_closed,
        happened.DeviceRegistered: _device_registered,
        happened.DeviceLeft: _device_left,
        happened.TrialLeased: _trial_leased,
        happened.TrialCompleted: _trial_completed,
        happened.TrialFailed: _trial_failed,
        happened.TrialLost: _trial_lost,
        happened.TrialReleased: _trial_released,
    }


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) if value else ""
