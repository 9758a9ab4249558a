"""What a simulation starts from: the pool as it is, in as much as it matters for what comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bentham.core import Scheduler
from bentham.service import Pool, Study, dataset_key


@dataclass(frozen=True, slots=True)
class OpenStudy:
    """A study that is being served."""

    id: str
    tenant: str
    dataset: str  # as the scheduler calls it
    models: frozenset[str]
    value: float  # its best score so far, or its floor
    scored: bool  # whether it has any
    stop: Mapping[str, float | None]
    ended: int  # trials, with a score or without
    running: int  # trials on its behalf
    untried: int  # models
    device_seconds: float

    @staticmethod
    def of(study: Study) -> "OpenStudy":
        """What matters of a study of the pool."""
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
    """Which studies an arm serves, by their places in the start."""

    def __init__(self, studies: tuple[OpenStudy, ...]):
        self._studies = studies
        self._places: dict[str, list[int]] = {}
        for place, study in enumerate(studies):
            self._places.setdefault(study.dataset, []).append(place)

    def of(self, dataset: str, model: str) -> list[tuple[int, OpenStudy]]:
        """The studies that list an arm, with their places."""
        found = ((place, self._studies[place]) for place in self._places.get(dataset, ()))
        return [(place, study) for place, study in found if model in study.models]


@dataclass(frozen=True, slots=True)
class RunningTrial:
    """A trial that runs."""

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
    sequence: int
    devices: tuple[str, ...]
    studies: tuple[OpenStudy, ...]
    running: tuple[RunningTrial, ...]
    limits: Mapping[str, int]  # of running trials, by tenant
    now: float
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def of(pool: Pool, now: float) -> "StartingPoint":
        """What matters of the pool. It must not change while this is used."""
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
        )
        limits = {
            name: int(most)
            for name, tenant in pool.limited.items()
            if (most := tenant.limits.get("running_trials")) is not None
        }
        found = StartingPoint(
            scheduler, pool.sequence, tuple(pool.devices), studies, running, limits, now
        )
        found.notes.extend(_notes(pool, studies))
        return found


def _notes(pool: Pool, studies: tuple[OpenStudy, ...]) -> list[str]:
    """What the answers do not know of, where it applies."""
    notes = []
    if not studies:
        notes.append("No study is being served, so there is nothing to simulate.")
    held = sum(t.limits.get("running_trials") is not None for t in pool.limited.values())
    if held:
        notes.append(
            f"Limits of running trials (of tenants: {held}) hold: beyond them more devices do "
            "nothing for those tenants."
        )
    timed = [
        name
        for name, tenant in pool.limited.items()
        if tenant.limits.get("device_seconds_per_day") is not None
    ]
    if timed:
        notes.append(
            f"Limits of device time per day (of tenants: {len(timed)}) are left out: with "
            "them it takes longer."
        )
    paused = sum(study.state == "paused" for study in pool.studies.values())
    if paused:
        notes.append(f"Paused studies ({paused}) are left out.")
    stopping = sum(any(value is not None for value in study.stop.values()) for study in studies)
    if stopping:
        notes.append(
            f"Studies with a stop rule ({stopping}) end by it, and count from then on with the "
            "regret that they end with."
        )
    kinds = {device.kind for device in pool.devices.values()}
    if len(kinds) > 1:
        notes.append(
            f"The {len(kinds)} kinds of devices are taken to be equally fast, and so are devices "
            "that are added."
        )
    return notes
