"""Every kind of event: what it is about, what it changes, and what follows from it. One table.

A new kind of event is a class in `events` and an entry here. The fold, the engine, the answers to
requests, the page's stream and docs/events.md all go by this table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bentham.service.fold import events as happened
from bentham.service.fold.entities import Study
from bentham.service.fold.handlers import datasets, devices, pool, studies, tenants, trials
from bentham.service.fold.state import State

# What a page shows; of the rest only operators hear.
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
    entity: str  # what it is about: its view answers the request that became the event
    apply: Callable[[Any, float, Any], None]
    owner: Callable[[State, Any], str] = _nobody  # the tenant concerned, who hears of it
    subject: Callable[[State, Any], str] = _subject  # the id or name of what it is about
    alive: Callable[[State, Any], str] = _nobody  # the device that it is a sign of life of
    opens: bool = False  # whether there may be something to run where there was nothing before
    ends_trial: bool = False
    ends: Callable[[State, Any], list[Study]] = _none  # studies that it may end, by their rules

    @property
    def owned(self) -> bool:
        """Whether it concerns a tenant, who hears of it."""
        return self.owner is not _nobody

    @property
    def kind(self) -> str:
        """What it is called in the log."""
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
    """The kinds that a page hears of."""
    return [entry.kind for entry in ENTRIES if entry.entity in SHOWN]
