"""What the service does of itself: studies close by their rules, leases run out, devices vanish."""

from collections.abc import Iterator
from functools import partial

from bentham.core.problem.stop_rules import StudyProgress, stop_reason
from bentham.service.engine.leases import Leases
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Device, Study
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_EVENT

Events = list[happened.Event]


def leaving(device: Device, reason: str) -> Events:
    """The events of a device that goes: its trial is lost first."""
    lost: Events = [] if device.trial is None else [happened.TrialLost(device.trial.id, reason)]
    return [*lost, happened.DeviceLeft(device.name, reason)]


def consequences(pool: Pool, event: happened.Event, now: float) -> Events:
    """The studies that are over because of what just happened."""
    return [
        happened.StudyClosed(study.id, reason)
        for study in BY_EVENT[type(event)].ends(pool, event)
        if (reason := _met(pool, study, now)) is not None
    ]


def _met(pool: Pool, study: Study, now: float) -> str | None:
    """Why a study is over, None if it is not."""
    if study.state == "closed":
        return None
    progress = StudyProgress(
        ended=study.counts["complete"] + study.counts["failed"],
        device_seconds=study.device_seconds,
        scored=study.best is not None,
        untried=study.untried > 0,
        running=lambda: "running" in study.states(),
        prospect=partial(pool.scheduler.prospect, study.id) if study.served else None,
    )
    return stop_reason(study.stop, progress, now)


def overdue(pool: Pool, leases: Leases, now: float, instant: float) -> Iterator[Events]:
    """What time alone has brought about, one thing after the other.

    `now` is the time of day, `instant` that of a clock which never jumps.
    """
    for trial in leases.expired(instant):
        if trial in pool.running:
            yield [happened.TrialLost(trial, "the lease ran out")]
    for study, deadline in list(pool.deadlines.items()):
        if now >= deadline:
            yield [happened.StudyClosed(study, "stop rule: the deadline")]
    for name in leases.vanished(instant):
        device = pool.devices.get(name)
        if device is not None and device.trial is None:
            yield leaving(device, "not heard of for too long")
