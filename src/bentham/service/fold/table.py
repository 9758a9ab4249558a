"""Every kind of event in one table: what it is about, what it changes, and what follows from it.

A new kind of event is a class in `events` and an entry here. The fold, the engine, the replies to
requests, the dashboard's stream and docs/events.md all use this table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bentham.errors import InvalidRecording
from bentham.service.fold import events, handlers
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool

# What the dashboard shows, and so listens to.
SHOWN = frozenset({"tenant", "dataset", "study", "fit", "device", "trial"})


def _no_name(pool: Pool, event: Any) -> str:  # noqa: ARG001
    return ""


def _named(pool: Pool, event: Any) -> str:  # noqa: ARG001
    name: str = event.name
    return name


def _tenant_named(pool: Pool, event: Any) -> str:  # noqa: ARG001
    tenant: str = event.tenant
    return tenant


def _tenant_of_study(pool: Pool, event: Any) -> str:
    return pool.studies[event.id].tenant.name


def _tenant_of_trial(pool: Pool, event: Any) -> str:
    return pool.trial(event.id).study.tenant.name


def _device_of_trial(pool: Pool, event: Any) -> str:
    return pool.trial(event.id).device


def _subject(pool: Pool, event: Any) -> str:  # noqa: ARG001
    return str(getattr(event, "id", None) or getattr(event, "name", ""))


def _latest_history(pool: Pool, event: Any) -> str:  # noqa: ARG001
    return str(len(pool.history) - 1)


def _none(pool: Pool, event: Any) -> list[Study]:  # noqa: ARG001
    return []


def _own(pool: Pool, event: Any) -> list[Study]:
    return [pool.studies[event.id]]


def _over_same_data(pool: Pool, event: Any) -> list[Study]:
    trial = pool.trial(event.id)
    return [] if trial.fits else list(trial.study.shared.studies)


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of event."""

    event: type[Any]
    entity: str  # what it is about: its view is the reply to the request
    apply: Callable[[Any, float, Any], None]
    owner: Callable[[Pool, Any], str] = _no_name  # the tenant concerned, which is notified
    subject: Callable[[Pool, Any], str] = _subject  # the id or name of what it is about
    alive: Callable[[Pool, Any], str] = _no_name  # the device that sent it, a sign of life
    opens: bool = False  # whether something may be run that could not be run before
    starts_trial: bool = False
    ends_trial: bool = False
    ends: Callable[[Pool, Any], list[Study]] = _none  # studies whose stop rules it may fulfil

    @property
    def owned(self) -> bool:
        """Whether it concerns a tenant, which is notified."""
        return self.owner is not _no_name

    @property
    def kind(self) -> str:
        """Its name in the log."""
        return events.name_of(self.event)


ENTRIES = (
    Entry(events.PoolCreated, "pool", handlers.pool_created),
    Entry(events.SettingsChanged, "pool", handlers.settings_changed),
    Entry(events.RequestNoted, "request", handlers.request_noted),
    Entry(events.HistoryImported, "history", handlers.history_imported, subject=_latest_history),
    Entry(events.TenantCreated, "tenant", handlers.tenant_created, _named),
    Entry(events.TenantChanged, "tenant", handlers.tenant_changed, _named, opens=True),
    Entry(events.TokenIssued, "token", handlers.token_issued),
    Entry(events.TokenRevoked, "token", handlers.token_revoked),
    Entry(events.DatasetAdded, "dataset", handlers.dataset_added, _tenant_named),
    Entry(events.DatasetRenamed, "dataset", handlers.dataset_renamed, _tenant_named),
    Entry(events.DatasetDropped, "dataset", handlers.dataset_dropped, _tenant_named),
    Entry(
        events.StudyCreated, "study", handlers.study_created, _tenant_named, opens=True, ends=_own
    ),
    Entry(events.StudyRenamed, "study", handlers.study_renamed, _tenant_of_study),
    Entry(events.StudyPaused, "study", handlers.study_paused, _tenant_of_study),
    Entry(
        events.StudyResumed,
        "study",
        handlers.study_resumed,
        _tenant_of_study,
        opens=True,
        ends=_own,
    ),
    Entry(events.StudyClosed, "study", handlers.study_closed, _tenant_of_study),
    Entry(
        events.StudyReopened,
        "study",
        handlers.study_reopened,
        _tenant_of_study,
        opens=True,
        ends=_own,
    ),
    Entry(events.DeviceRegistered, "device", handlers.device_registered, alive=_named),
    Entry(events.DeviceLeft, "device", handlers.device_left),
    Entry(
        events.TrialLeased,
        "trial",
        handlers.trial_leased,
        _tenant_of_trial,
        alive=_device_of_trial,
        starts_trial=True,
    ),
    Entry(
        events.TrialCompleted,
        "trial",
        handlers.trial_completed,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        events.TrialFailed,
        "trial",
        handlers.trial_failed,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        events.TrialLost,
        "trial",
        handlers.trial_lost,
        _tenant_of_trial,
        opens=True,
        ends_trial=True,
        ends=_over_same_data,
    ),
    Entry(
        events.TrialReleased,
        "trial",
        handlers.trial_released,
        _tenant_of_trial,
        alive=_device_of_trial,
        opens=True,
        ends_trial=True,
    ),
    Entry(events.FitRequested, "fit", handlers.fit_requested, _tenant_of_study, opens=True),
    Entry(
        events.FitLeased,
        "trial",
        handlers.fit_leased,
        _tenant_of_trial,
        alive=_device_of_trial,
        starts_trial=True,
    ),
    Entry(
        events.FitCompleted,
        "trial",
        handlers.fit_completed,
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


def apply(
    pool: Pool, sequence: int, time: float, event: events.Event, actor: str = "", key: str = ""
) -> None:
    """Apply one event of the log to the pool.

    The caller has checked the event against the pool (`commands` does), so that it can be applied
    completely. The scheduler, which has checks of its own, is changed first.
    """
    if sequence != pool.sequence + 1:
        raise InvalidRecording(f"event {sequence} follows {pool.sequence}; the log has a gap")
    entry = BY_EVENT[type(event)]
    entry.apply(pool, time, event)
    pool.sequence, pool.time = sequence, time
    owner = entry.owner(pool, event)
    if owner:
        pool.tenants[owner].events += 1
    if key:
        pool.keys.note(key, actor, entry.kind, entry.subject(pool, event), time)
        if entry.starts_trial:
            pool.trial(entry.subject(pool, event)).key = key
