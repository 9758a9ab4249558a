"""The fold: everything that the service knows, as the events of its log made it.

`apply` takes in one event. Whoever calls it has checked the event against the state (`commands`
does), so that it can be applied whole; the scheduler, which checks for itself, comes first.

Time enters with the events only. Studies go by their ids to the scheduler, and datasets by their
tenant and name: tenants that happen to name a dataset alike share nothing.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from bentham.core import LearnedPrior, Scheduler, prior_from
from bentham.core import events as core
from bentham.core.problem import ModelDescription
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
)
from bentham.service.state import dataset_key
from bentham.service.trials import TrialFold

DEPARTED = 1000


class Pool(TrialFold):
    """Tenants, tokens, studies, devices, trials, and the scheduler that serves them."""

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
        self.datasets[made.id] = self.datasets_of(made.tenant)[made.id] = made

    def _dataset_dropped(self, time: float, event: happened.DatasetDropped) -> None:  # noqa: ARG002
        del self.datasets[event.id], self.datasets_of(event.tenant)[event.id]

    # -- studies

    def _study_created(self, time: float, event: happened.StudyCreated) -> None:
        tenant = self.tenants[event.tenant]
        key = dataset_key(event.tenant, event.dataset)
        shared = self.arms.get(key)
        shared = shared or Arms(_json(event.training), event.training.get("hash", ""))
        study = Study(
            event.id, tenant, event.name, event.dataset, event.metric, event.models, event.weight,
            event.floor, event.rows, event.columns, event.stop, time, shared,
            event.drawn, event.data,
        )  # fmt: skip
        for model, tried in shared.tried.items():
            if tried.score is not None:
                study.credit(model, tried.score, time)
        study.untried = sum(state == "untried" for state in study.states())
        described = {name: _description(said) for name, said in event.described.items()}
        self.descriptions.update(described)
        try:
            self._serve(time, study)
        except Exception:  # it is refused: nothing of it stays
            for name in described:
                del self.descriptions[name]
            raise
        if key not in self.arms:
            tenant.trained_columns += len(event.training.get("columns", ()))
        self.arms[key] = shared
        tenant.arms += len(event.models)
        tenant.models.update(dict.fromkeys(self.counted(event.models, event.drawn)))
        self.models.update(dict.fromkeys(event.models))
        shared.studies.append(study)
        self.studies[study.id] = tenant.studies[study.name] = tenant.current[study.id] = study
        deadline = study.stop.get("deadline")
        if deadline is not None:
            self.deadlines[study.id] = deadline

    def _study_paused(self, time: float, event: happened.StudyPaused) -> None:
        self._move(time, self.studies[event.id], "paused")

    def _study_resumed(self, time: float, event: happened.StudyResumed) -> None:
        self._move(time, self.studies[event.id], "open")

    def _study_closed(self, time: float, event: happened.StudyClosed) -> None:
        study = self.studies[event.id]
        study.reason, study.closed = event.reason, time
        study.tenant.arms -= len(study.models)
        study.tenant.closed.append(study.tenant.current.pop(study.id))
        self.deadlines.pop(study.id, None)
        self._move(time, study, "closed")

    def _move(self, time: float, study: Study, state: str) -> None:
        study.state = state
        self._serve(time, study)

    # -- devices

    def _device_registered(self, time: float, event: happened.DeviceRegistered) -> None:
        self.scheduler.apply(core.DeviceAdded(time, event.name, event.kind))
        self.devices[event.name] = Device(event.name, event.kind, event.token, time)

    def _device_left(self, time: float, event: happened.DeviceLeft) -> None:
        self.scheduler.apply(core.DeviceRemoved(time, event.name))
        self.departed[event.name] = self.devices.pop(event.name)
        if len(self.departed) > DEPARTED:
            del self.departed[next(iter(self.departed))]

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
        happened.StudyCreated: _study_created,
        happened.StudyPaused: _study_paused,
        happened.StudyResumed: _study_resumed,
        happened.StudyClosed: _study_closed,
        happened.DeviceRegistered: _device_registered,
        happened.DeviceLeft: _device_left,
        happened.TrialLeased: TrialFold._trial_leased,
        happened.TrialCompleted: TrialFold._trial_completed,
        happened.TrialFailed: TrialFold._trial_failed,
        happened.TrialLost: TrialFold._trial_lost,
        happened.TrialReleased: TrialFold._trial_released,
    }


def _description(said: Mapping[str, Any]) -> Description:
    kin = ModelDescription(said["family"], said["features"])
    standard = bool(said.get("standard"))
    return Description(said["algorithm"], said["configuration"], kin, standard)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) if value else ""
