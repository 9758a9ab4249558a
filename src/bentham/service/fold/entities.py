"""Tenants, tokens, datasets, studies, devices and trials, as the pool keeps them in memory."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bentham.core.problem.stop_rules import wants_no_more
from bentham.core.problem.study import ModelDescription

DAY = 86_400.0


@dataclass(slots=True)
class Tenant:
    """Who owns studies."""

    name: str
    weight: float
    limits: dict[str, float | None]
    created: float
    studies: dict[str, "Study"] = field(default_factory=dict)  # by name
    current: dict[str, "Study"] = field(default_factory=dict)  # by id: those not closed
    closed: list["Study"] = field(default_factory=list)  # the latest last
    running: dict[str, "Trial"] = field(default_factory=dict)
    device_seconds: float = 0.0
    events: int = 0  # so many concerned it
    models: dict[str, None] = field(default_factory=dict)  # ever listed, but for standard ones
    arms: int = 0  # that studies which are not closed list
    trials: list["Trial"] = field(default_factory=list)
    leases_lost: int = 0  # not those that were given back
    datasets: dict[str, "Dataset"] = field(default_factory=dict)  # by id
    trained_columns: int = 0  # of the data that its studies are over
    _day: float = 0.0  # the day that the next counts
    _day_seconds: float = 0.0

    def charge(self, start: float, end: float) -> None:
        """A trial used a device; a day is charged for what lies in it."""
        self.device_seconds += end - start
        today = end // DAY
        if today != self._day:
            self._day, self._day_seconds = today, 0.0
        self._day_seconds += end - max(start, today * DAY)

    def seconds_today(self, now: float) -> float:
        """Device time used today (UTC), by trials that ended and by those that run."""
        today = now // DAY
        used = self._day_seconds if today == self._day else 0.0
        for trial in self.running.values():
            used += max(0.0, now - max(trial.started, today * DAY))
        return used

    def reached_limit(self, now: float) -> str | None:
        """The limit that the tenant has reached, if any."""
        most = self.limits.get("running_trials")
        if most is not None and len(self.running) >= most:
            return "running-trials"
        seconds = self.limits.get("device_seconds_per_day")
        if seconds is not None and self.seconds_today(now) >= seconds:
            return "device-time"
        return None


@dataclass(frozen=True, slots=True)
class Token:
    """Who may ask, and for what; `revoked` is when it was."""

    id: str
    role: str
    tenant: str | None
    label: str
    hash: str
    created: float
    expires: float | None
    revoked: float | None = None

    def good(self, now: float) -> bool:
        """Whether it opens anything."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(slots=True)
class Tried:
    """What became of a model on a dataset."""

    state: str = "untried"
    score: float | None = None
    losses: int = 0  # attempts that brought nothing
    trial: str = ""  # the latest
    unable: dict[str, None] = field(default_factory=dict)  # devices that can never run it


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table of data that studies may be over; `columns` is JSON, since there may be many."""

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
    """What a model's name stands for; `kin` is what the core makes of it."""

    algorithm: str
    configuration: Mapping[str, bool | int | float | str | None]
    kin: ModelDescription
    standard: bool = False  # what everybody draws; it counts against nobody's limits


@dataclass(slots=True)
class Arms:
    """What the studies over one dataset share: all that a score depends on is the same.

    `training` is that in JSON, empty where a dataset is nothing but a name.
    """

    training: str = ""
    hash: str = ""  # of the data's content
    studies: list["Study"] = field(default_factory=list)
    tried: dict[str, Tried] = field(default_factory=dict)

    def state(self, model: str) -> str:
        """Where a model stands."""
        tried = self.tried.get(model)
        return "untried" if tried is None else tried.state

    def move(self, model: str, state: str) -> Tried:
        """A model stands elsewhere from now on."""
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
    shared: Arms
    drawn: bool = False  # whether its models came from the catalogue
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
    improvements: list[tuple[float, float]] = field(default_factory=list)  # when, and to what
    untried: int = 0  # so many of its models are
    trials: list["Trial"] = field(default_factory=list)

    def states(self) -> Iterator[str]:
        """Where each of its models stands."""
        return (self.shared.state(model) for model in self.models)

    def credit(self, model: str, score: float, time: float) -> None:
        """Take note of a score."""
        if model in self.models and (self.best is None or score > self.best[1]):
            self.best = model, score
            self.improvements.append((time, score))

    @property
    def incumbent(self) -> float:
        """The best score so far, the floor before the first."""
        return self.floor if self.best is None else self.best[1]

    @property
    def start(self) -> float:
        """What its gains are counted from: the floor, or its first score where that was below."""
        return min(self.floor, self.improvements[0][1]) if self.improvements else self.floor

    @property
    def over(self) -> str:
        """What it is over, as its tenant calls it."""
        return self.data.get("name") or self.dataset

    @property
    def full(self) -> bool:
        """Whether as many trials run or ended as it wants in all."""
        started = self.counts["running"] + self.counts["complete"] + self.counts["failed"]
        return wants_no_more(self.stop, started)


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
    """One run of an arm on a device; `sequence` is where in the log its decision is."""

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
    key: str = ""  # of the request that leased it
    metrics: tuple[tuple[str, float], ...] = ()
    scores: tuple[float, ...] = ()


def as_json(value: object) -> str:
    """As entities keep what they need seldom; empty for nothing."""
    return json.dumps(value, separators=(",", ":")) if value else ""
