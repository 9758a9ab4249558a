"""Events that the service adds: stop rules close studies, leases expire, silent devices leave."""

from collections.abc import Iterable, Iterator
from functools import partial

from bentham.core.problem.stop_rules import StudyProgress, stop_reason
from bentham.service.engine.leases import Leases
from bentham.service.fold import events
from bentham.service.fold.entities import Device, Study
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_EVENT

Events = list[events.Event]
# Every metric of a trained model has this maximum (`training/metrics.py`).
HIGHEST_SCORE = 1.0
REGISTERED_AGAIN = "the device registered again"  # why a device leaves that is back at once


def leaving(device: Device, reason: str) -> Events:
    """Return the events of a device that leaves; the trial that it runs is lost first."""
    lost: Events = [] if device.trial is None else [events.TrialLost(device.trial.id, reason)]
    return [*lost, events.DeviceLeft(device.name, reason)]


def consequences(pool: Pool, event: events.Event, now: float) -> Events:
    """Return the events that close the studies whose stop rules this event fulfils."""
    return closings(pool, BY_EVENT[type(event)].ends(pool, event), now)


def closings(pool: Pool, studies: Iterable[Study], now: float) -> Events:
    """Return the events that close those of the studies of which a stop rule is fulfilled."""
    return [
        events.StudyClosed(study.id, reason)
        for study in studies
        if (reason := _stop_reason(pool, study, now)) is not None
    ]


def ending_by_gain(pool: Pool) -> list[Study]:
    """Return the served studies that end by what their models are expected to gain.

    That may change without an event of their own: when what is learned from others changes.
    """
    return [
        study
        for tenant in pool.tenants.values()
        for study in tenant.current.values()
        if study.served and (study.stop.get("gain_share") or study.stop.get("expected_gain"))
    ]


def _stop_reason(pool: Pool, study: Study, now: float) -> str | None:
    """Return why a study must close; None if it stays open, or is closed already."""
    if study.state == "closed":
        return None
    progress = StudyProgress(
        ended=study.counts["complete"] + study.counts["failed"],
        device_seconds=study.device_seconds,
        scored=study.best is not None,
        untried=study.untried > 0,
        perfect=study.incumbent >= HIGHEST_SCORE and bool(study.data),
        running=lambda: "running" in study.states(),
        prospect=partial(pool.scheduler.prospect, study.id) if study.served else None,
    )
    return stop_reason(study.stop, progress, now)


def overdue(pool: Pool, leases: Leases, now: float, instant: float) -> Iterator[Events]:
    """Yield the events that are due by time alone, in groups that belong together.

    `now` is the time of day, `instant` the time of the monotonic clock.
    """
    for trial in leases.expired(instant):
        if trial in pool.running:
            yield [events.TrialLost(trial, "the lease ran out")]
    for study, deadline in list(pool.deadlines.items()):
        if now >= deadline:
            yield [events.StudyClosed(study, "stop rule: the deadline")]
    for name in leases.silent(instant):
        device = pool.devices.get(name)
        if device is not None and device.trial is None:
            yield leaving(device, "no sign of life for too long")
