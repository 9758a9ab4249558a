"""The starting point of a simulation: the part of the current state that affects the forecast."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from bentham.core import Scheduler
from bentham.core.problem.stop_rules import has_rule
from bentham.service import Pool, Study, dataset_key


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """A study that is being served."""

    id: str
    tenant: str
    dataset: str  # the scheduler's name for it
    models: frozenset[str]
    value: float  # its best score so far, or its floor
    scored: bool  # whether it has a score
    stop: Mapping[str, float | None]
    ended: int  # the number of its trials that ended, with a score or without
    running: int  # the number of its running trials
    untried: int  # the number of its untried models
    device_seconds: float

    @staticmethod
    def of(study: Study) -> "OpenStudy":
        """Return the starting point of a study of the pool."""
        counts = study.counts
        return OpenStudy(
            study.id,
            study.tenant.name,
            dataset_key(study.tenant.name, study.dataset),
            frozenset(study.models),
            study.floor if study.best is None else study.best[1],
            study.best is not None,
            study.stop,
            counts["complete"] + counts["failed"],
            counts["running"],
            study.untried,
            study.device_seconds,
        )


class Listers:
    """The studies that list each arm, by their index in the starting point."""

    def __init__(self, studies: tuple[OpenStudy, ...]):
        self._studies = studies
        self._indexes: dict[str, list[int]] = {}  # by dataset
        for index, study in enumerate(studies):
            self._indexes.setdefault(study.dataset, []).append(index)

    def of(self, dataset: str, model: str) -> list[tuple[int, OpenStudy]]:
        """Return the studies that list an arm, with their indexes."""
        studies = ((index, self._studies[index]) for index in self._indexes.get(dataset, ()))
        return [(index, study) for index, study in studies if model in study.models]


@dataclass(frozen=True, slots=True)
class RunningTrial:
    """A running trial; `elapsed` is the time it had run when the simulation started."""

    number: int
    device: str
    study: str
    tenant: str
    dataset: str
    model: str
    elapsed: float


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """The pool at one moment; times are seconds from then on."""

    scheduler: Scheduler
    devices: tuple[str, ...]
    studies: tuple[OpenStudy, ...]
    running: tuple[RunningTrial, ...]
    limits: Mapping[str, int]  # on running trials, by tenant
    now: float
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def of(pool: Pool, now: float, away: Collection[str] = ()) -> "StartingPoint":
        """Return the starting point of a pool, which must not change while this is used.

        The devices `away` are left out.
        """
        now = max(now, pool.time)
        scheduler = pool.scheduler
        studies = tuple(OpenStudy.of(pool.studies[name]) for name in scheduler.studies)
        running = tuple(
            RunningTrial(
                trial.number,
                trial.device,
                trial.study.id,
                trial.study.tenant.name,
                dataset_key(trial.study.tenant.name, trial.study.dataset),
                trial.model,
                max(0.0, now - trial.started),
            )
            for trial in sorted(pool.running.values(), key=lambda trial: trial.number)
            if not trial.fits
        )
        limits = {
            name: int(limit)
            for name, tenant in pool.limited.items()
            if (limit := tenant.limits.get("running_trials")) is not None
        }
        devices = tuple(name for name in pool.devices if name not in away)
        start = StartingPoint(scheduler, devices, studies, running, limits, now)
        if away:
            start.notes.append(f"Devices that are away ({len(away)}) are left out.")
        start.notes.extend(_notes(pool, studies))
        return start


def _notes(pool: Pool, studies: tuple[OpenStudy, ...]) -> list[str]:
    """Return notes on the assumptions and omissions that apply to this pool."""
    notes = []
    if not studies:
        notes.append("No study is being served, so there is nothing to simulate.")
    trial_limits = sum(t.limits.get("running_trials") is not None for t in pool.limited.values())
    if trial_limits:
        notes.append(
            f"Limits on running trials apply (tenants: {trial_limits}): beyond them, more devices "
            "do not help those tenants."
        )
    time_limits = [
        name
        for name, tenant in pool.limited.items()
        if tenant.limits.get("device_seconds_per_day") is not None
    ]
    if time_limits:
        notes.append(
            f"Daily limits on device time (tenants: {len(time_limits)}) are ignored: with them, "
            "it takes longer."
        )
    paused = sum(study.state == "paused" for study in pool.studies.values())
    if paused:
        notes.append(f"Paused studies ({paused}) are left out.")
    stopping = sum(has_rule(study.stop) for study in studies)
    if stopping:
        notes.append(
            f"Studies with a stop rule ({stopping}) end when it is met, and keep counting with "
            "their final regret."
        )
    kinds = {device.kind for device in pool.devices.values()}
    if len(kinds) > 1:
        notes.append(
            f"The {len(kinds)} kinds of devices, and devices that are added, are assumed to be "
            "equally fast."
        )
    return notes
