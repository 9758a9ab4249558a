"""Every kind of event in one table: what it is about, what it changes, and what follows from it.

A new kind of event is a class in `events` and an entry here. The fold, the engine, the replies to
requests, the dashboard's stream and docs/events.md all use this table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bentham.service.fold import events as happened
from bentham.service.fold.entities import Study
from bentham.service.fold.handlers import datasets, devices, pool, studies, tenants, trials
from bentham.service.fold.state import State

# What the dashboard shows, and so listens to.
SHOWN = frozenset({"tenant", "dataset", "study", "device", "trial"})


def _nobody(state: State, event: Any) -> str:  # noqa: ARG001
    return ""


def _named(state: State, event: Any) -> str:  # noqa: ARG001
    name: str = event.name
    return name


def _tenant_named(state: State, event: Any) -> str:  # noqa: ARG001
    tenant: str = event.tenant
    return tenant


def _tenant_of_study(state: State, event: Any) -> str:
    return state.studies[event.id].tenant.name


def _tenant_of_trial(state: State, event: Any) -> str:
    return state.trials[event.id].study.tenant.name


def _device_of_trial(state: State, event: Any) -> str:
    return state.trials[event.id].device


def _subject(state: State, event: Any) -> str:  # noqa: ARG001
    return str(getattr(event, "id", None) or getattr(event, "name", ""))


def _latest_history(state: State, event: Any) -> str:  # noqa: ARG001
    return str(len(state.history) - 1)


def _none(state: State, event: Any) -> list[Study]:  # noqa: ARG001
    return []


def _own(state: State, event: Any) -> list[Study]:
    return [state.studies[event.id]]


def _over_same_data(state: State, event: Any) -> list[Study]:
    return list(state.trials[event.id].study.shared.studies)


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of event."""

    event: type[Any]
    entity: str  # what it is about: its view is the reply to the request
    apply: Callable[[Any, float, Any], None]
    owner: Callable[[State, Any], str] = _nobody  # the tenant concerned, which is notified
    subject: Callable[[State, Any], str] = _subject  # the id or name of what it is about
    alive: Callable[[State, Any], str] = _nobody  # the device that sent it, a sign of life
    opens: bool = False  # whether something may be run that could not be run before
    ends_trial: bool = False
    ends: Callable[[State, Any], list[Study]] = _none  # studies whose stop rules it may fulfil

    @property
    def owned(self) -> bool:
        """Whether it concerns a tenant, which is notified."""
        return self.owner is not _nobody

    @property
    def kind(self) -> str:
        """Its name in the log."""
        return happened.name_of(self.event)


ENTRIES = (
    Entry(happened.PoolCreated, "pool", pool.pool_created),
    Entry(happened.SettingsChanged, "pool", pool.settings_changed),
    Entry(happened.RequestNoted, "request", pool.request_noted),
    Entry(happened.HistoryImported, "history", pool.history_imported, subject=_latest_history),
    Entry(happened.TenantCreated, "tenant", tenants.tenant_created, _named),
    Entry(happened.TenantChanged, "tenant", tenants.tenant_changed, _named, opens=True),
    Entry(happened.TokenIssued, "token", tenants.token_issued),
    Entry(happened.TokenRevoked, "token", tenants.token_revoked),
    Entry(happened.DatasetAdded, "dataset", datasets.dataset_added, _tenant_named),
    Entry(happened.DatasetDropped, "dataset", datasets.dataset_dropped, _tenant_named),
    Entry(
        happened.StudyCreated, "study", studies.study_created, _tenant_named, opens=True, ends=_own
    ),
    Entry(happened.StudyPaused, "study", studies.study_paused, _tenant_of_study),
    Entry(
        happened.StudyResumed,
        "study",
        studies.study_resumed,
        _tenant_of_study,
        opens=True,
        ends=_own,
    ),
    Entry(happened.StudyClosed, "study", studies.study_closed, _tenant_of_study),
    Entry(happened.DeviceRegistered, "device", devices.device_registered, alive=_named),
    Entry(happened.DeviceLeft, "device", devices.device_left),
    Entry(
        happened.TrialLeased,
        "trial",
        trials.trial_leased,
        _tenant_of_trial,
        alive=_device_of_trial,
    ),
    Entry(
        happened.TrialCompleted,
        "trial",
        trials.trial_completed,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        happened.TrialFailed,
        "trial",
        trials.trial_failed,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        happened.TrialLost,
        "trial",
        trials.trial_lost,
        _tenant_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        happened.TrialReleased,
        "trial",
        trials.trial_released,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
    ),
)
BY_EVENT = {entry.event: entry for entry in ENTRIES}
BY_KIND = {entry.kind: entry for entry in ENTRIES}


def shown_kinds() -> list[str]:
    """Return the kinds of events that the dashboard listens to."""
    return [entry.kind for entry in ENTRIES if entry.entity in SHOWN]
