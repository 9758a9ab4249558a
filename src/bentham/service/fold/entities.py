"""Tenants, tokens, datasets, studies, devices and trials, as the pool holds them in memory."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

from bentham.core.problem.stop_rules import trial_limit_reached
from bentham.core.problem.study import ModelDescription

HOUR, DAY = 3_600.0, 86_400.0
LOWEST = -1e50  # no score is lower (`wire.base.LARGEST`)


@dataclass(slots=True)
class Tenant:
    """Owns studies."""

    name: str
    weight: float
    limits: dict[str, float | None]
    created: float
    studies: dict[str, "Study"] = field(default_factory=dict)  # by name
    current: dict[str, "Study"] = field(default_factory=dict)  # by id: those not closed
    closed: list["Study"] = field(default_factory=list)  # latest last
    running: dict[str, "Trial"] = field(default_factory=dict)
    device_seconds: float = 0.0
    events: int = 0  # the number of events that concerned it
    models: dict[str, None] = field(default_factory=dict)  # ever listed, except standard ones
    arms: int = 0  # models of the studies that are not closed, counted per study
    trials: list["Trial"] = field(default_factory=list)
    leases_lost: int = 0  # released trials do not count
    datasets: dict[str, "Dataset"] = field(default_factory=dict)  # by id
    trained_columns: int = 0  # of the data that its studies use
    fitted: dict[str, "Study"] = field(default_factory=dict)  # with a fitted model, oldest first
    fit: "Trial | None" = None  # the latest trial that fits a model
    _day: float = 0.0  # the day that `_day_seconds` is for
    _day_seconds: float = 0.0

    def charge(self, start: float, end: float) -> None:
        """Add the device time of a trial; the day's total gets only the part within that day."""
        self.device_seconds += end - start
        today = end // DAY
        if today != self._day:
            self._day, self._day_seconds = today, 0.0
        self._day_seconds += end - max(start, today * DAY)

    def seconds_today(self, now: float) -> float:
        """Return the device time used today (UTC), by ended and running trials."""
        today = now // DAY
        used = self._day_seconds if today == self._day else 0.0
        for trial in self.running.values():
            used += max(0.0, now - max(trial.started, today * DAY))
        return used

    def seconds_used(self, now: float) -> float:
        """Return all device time used, by ended and running trials."""
        return self.device_seconds + sum(now - each.started for each in self.running.values())

    def reached_limit(self, now: float) -> str | None:
        """Return the limit that the tenant has reached; None if there is none."""
        most = self.limits.get("running_trials")
        if most is not None and len(self.running) >= most:
            return "running-trials"
        seconds = self.limits.get("device_seconds_per_day")
        if seconds is not None and self.seconds_today(now) >= seconds:
            return "device-time"
        return None


@dataclass(frozen=True, slots=True)
class Token:
    """An access token; `revoked` is the time when it was revoked."""

    id: str
    role: str
    tenant: str | None
    label: str
    hash: str
    created: float
    expires: float | None
    revoked: float | None = None

    def good(self, now: float) -> bool:
        """Whether the token is valid at this time."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(slots=True)
class Tried:
    """The state of a model on a dataset."""

    state: str = "untried"
    score: float | None = None
    losses: int = 0  # attempts without a score
    trial: str = ""  # the latest one
    unable: dict[str, None] = field(default_factory=dict)  # devices that can never run it


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table of data that studies may use; `columns` is JSON, since there may be many."""

    id: str
    tenant: str
    name: str
    hash: str
    format: str
    delimiter: str
    bytes: int
    rows: int
    width: int
    columns: str
    notes: tuple[str, ...]
    created: float


@dataclass(frozen=True, slots=True)
class Description:
    """What a model's name stands for; `kin` is the description that the core gets."""

    algorithm: str
    configuration: Mapping[str, bool | int | float | str | None]
    kin: ModelDescription
    standard: bool = False  # one of the standard candidates; it counts towards no limit


@dataclass(slots=True)
class Fit:
    """A model of a study that is trained on all rows, for its tenant to keep."""

    study: "Study"
    model: str
    requested: float
    state: str = "waiting"
    losses: int = 0  # attempts without a file
    trial: str = ""  # the latest one
    reason: str = ""  # why the latest trial gave no file
    unable: dict[str, None] = field(default_factory=dict)  # devices that can never fit it
    hash: str = ""
    bytes: int = 0
    versions: tuple[str, ...] = ()


@dataclass(slots=True)
class SharedArms:
    """What the studies on one dataset share: everything that a score depends on is the same.

    `training` is that as JSON, empty if the dataset is only a name.
    """

    training: str = ""
    hash: str = ""  # of the dataset's file
    studies: list["Study"] = field(default_factory=list)
    tried: dict[str, Tried] = field(default_factory=dict)
    looks: dict[str, str] = field(default_factory=dict)  # as JSON, at best models of the studies

    def best_above(self, model: str, own: "Study") -> float:
        """Return the score above which a model is the best so far of a study it counts for."""
        return min(
            LOWEST if study.best is None else study.best[1]
            for study in self.studies
            if model in study.models and (study.state != "closed" or study is own)
        )

    def keep_look(self, model: str, look: str) -> None:
        """Add a look, and drop those at models that are no longer the best of a study."""
        best = {study.best[0] for study in self.studies if study.best is not None}
        looks = {**self.looks, model: look}
        self.looks = {name: looks[name] for name in looks if name in best}

    def state(self, model: str) -> str:
        """Return the state of a model."""
        tried = self.tried.get(model)
        return "untried" if tried is None else tried.state

    def move(self, model: str, state: str) -> Tried:
        """Set the state of a model."""
        tried = self.tried.setdefault(model, Tried())
        more = (state == "untried") - (tried.state == "untried")
        if more:
            for study in self.studies:
                study.untried += more if model in study.models else 0
        tried.state = state
        return tried


@dataclass(slots=True)
class Study:
    """One dataset, one metric, and the candidate models to choose among."""

    id: str
    tenant: Tenant
    name: str
    dataset: str
    metric: str
    models: dict[str, float | None]
    weight: float
    floor: float
    rows: int | None
    columns: int | None
    stop: dict[str, float | None]
    created: float
    shared: SharedArms
    drawn: bool = False  # whether its models are from the catalogue
    data: Mapping[str, str] = field(default_factory=dict)  # the dataset's id and name
    closed: float | None = None
    state: str = "open"
    reason: str = ""
    served: bool = False  # whether the scheduler knows it
    counts: dict[str, int] = field(
        default_factory=lambda: {"running": 0, "complete": 0, "failed": 0, "lost": 0}
    )
    device_seconds: float = 0.0
    best: tuple[str, float] | None = None
    improvements: list[tuple[float, float]] = field(default_factory=list)  # times and new scores
    untried: int = 0  # the number of its untried models
    trials: list["Trial"] = field(default_factory=list)
    fit: Fit | None = None  # the fitted model requested last

    def states(self) -> Iterator[str]:
        """Return the state of each of its models."""
        return (self.shared.state(model) for model in self.models)

    def credit(self, model: str, score: float, time: float) -> None:
        """Record a score, which may be the best so far."""
        if model in self.models and (self.best is None or score > self.best[1]):
            self.best = model, score
            self.improvements.append((time, score))

    @property
    def incumbent(self) -> float:
        """The best score so far; the floor before the first score."""
        return self.floor if self.best is None else self.best[1]

    @property
    def start(self) -> float:
        """The score that gains are counted from: the floor, or the first score if it is lower."""
        return min(self.floor, self.improvements[0][1]) if self.improvements else self.floor

    def gained_since(self, time: float) -> float:
        """What the best score has gained since then."""
        place = bisect_right(self.improvements, time, key=itemgetter(0))
        before = self.improvements[place - 1][1] if place else self.start
        return self.incumbent - before

    @property
    def over(self) -> str:
        """The name that its tenant uses for its dataset."""
        return self.data.get("name") or self.dataset

    @property
    def full(self) -> bool:
        """Whether the limit on its trials is reached, counting running ones."""
        started = self.counts["running"] + self.counts["complete"] + self.counts["failed"]
        return trial_limit_reached(self.stop, started)


@dataclass(slots=True)
class Device:
    """Runs one trial at a time."""

    name: str
    kind: str
    token: str
    registered: float
    trial: "Trial | None" = None
    busy_seconds: float = 0.0


@dataclass(slots=True)
class Trial:
    """One run of an arm on a device; `sequence` is the number of its decision in the log.

    A trial that fits a model runs no arm, and follows from no decision.
    """

    id: str
    number: int
    study: Study
    model: str
    device: str
    token: str
    kind: str
    attempt: int
    cost: float
    started: float
    sequence: int
    state: str = "running"
    ended: float | None = None
    score: float | None = None
    reason: str = ""
    released: bool = False
    key: str = ""  # the idempotency key of the request that leased it
    metrics: tuple[tuple[str, float], ...] = ()
    scores: tuple[float, ...] = ()
    fits: bool = False
    look_above: float = LOWEST  # the score above which it was the best of a study when it began


def as_json(value: object) -> str:
    """Return a value as compact JSON, for data that is rarely read; empty if it is empty."""
    return json.dumps(value, separators=(",", ":")) if value else ""
