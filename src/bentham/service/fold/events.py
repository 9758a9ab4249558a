"""The events of a pool. Its state is a fold over them, and nothing else.

A new event is a class here and an entry in `table`.

Each event is stored with its kind and the version of its body. If the format of a body changes, it
gets a higher version, and `_UPGRADES` converts older ones: the log is never rewritten.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from bentham.core.problem.decision import Decision
from bentham.core.problem.events import decision_from_dict, decision_to_dict
from bentham.errors import InvalidRecording


class Event:
    """A change to the pool, as stored in the log."""

    __slots__ = ()


Kind = TypeVar("Kind", bound=type[Event])
KINDS: dict[str, type[Event]] = {}  # by their names in the log
_NAMES: dict[type[Event], str] = {}
_FIELDS: dict[type[Event], tuple[str, ...]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def event(name: str) -> Callable[[Kind], Kind]:
    """Declare a kind of event with this name: a frozen dataclass with the fields of its body."""

    def make(kind: Kind) -> Kind:
        made: Any = dataclass(frozen=True, slots=True)(kind)
        KINDS[name], _NAMES[made] = made, name
        _FIELDS[made] = tuple(each.name for each in dataclasses.fields(made))
        return made  # type: ignore[no-any-return]

    return make


@event("pool-created")
class PoolCreated(Event):
    """The first event of every log: how decisions are made. `prior` is None if it is learned."""

    policy: str
    warm_start: str
    seed: int
    attempts: int
    cost_exponent: float
    prior: dict[str, Any] | None = None


@event("settings-changed")
class SettingsChanged(Event):
    """The server was started with another limit on how many decisions may pass over a study."""

    patience: int | None


@event("request-noted")
class RequestNoted(Event):
    """A request about a study or a trial changed nothing; its idempotency key is stored."""

    id: str


@event("tenant-created")
class TenantCreated(Event):
    """A tenant was created."""

    name: str
    weight: float
    limits: dict[str, float | None]


@event("tenant-changed")
class TenantChanged(Event):
    """The weight or the limits of a tenant were changed."""

    name: str
    weight: float
    limits: dict[str, float | None]


@event("token-issued")
class TokenIssued(Event):
    """A token was issued; only a hash of it is stored."""

    id: str
    role: str
    tenant: str | None
    label: str
    hash: str
    expires: float | None


@event("token-revoked")
class TokenRevoked(Event):
    """A token was revoked."""

    id: str


@event("dataset-added")
class DatasetAdded(Event):
    """A dataset was added; its file is stored by its hash. Without a tenant it is shared by all."""

    id: str
    tenant: str
    name: str
    hash: str
    format: str
    delimiter: str
    bytes: int
    rows: int
    columns: list[dict[str, Any]]
    notes: list[str]


@event("dataset-renamed")
class DatasetRenamed(Event):
    """A dataset was given another name; studies on it refer to its id."""

    id: str
    tenant: str
    name: str


@event("dataset-dropped")
class DatasetDropped(Event):
    """A dataset was dropped; studies on it keep their results."""

    id: str
    tenant: str


@event("study-created")
class StudyCreated(Event):
    """A study was created.

    `data` names its dataset. `training` is everything else that scores depend on; later studies
    with the same training omit it. `described` are the models drawn from the catalogue that no
    study listed before, and what they stand for.
    """

    id: str
    tenant: str
    name: str
    dataset: str
    metric: str
    models: dict[str, float | None]
    weight: float
    floor: float
    rows: int | None
    columns: int | None
    stop: dict[str, Any] = field(default_factory=dict)
    drawn: bool = False  # whether its models are from the catalogue
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


@event("study-renamed")
class StudyRenamed(Event):
    """A study was given another name."""

    id: str
    name: str


@event("study-paused")
class StudyPaused(Event):
    """A study was paused: it gets no new trials until it is resumed."""

    id: str


@event("study-resumed")
class StudyResumed(Event):
    """A paused study was resumed."""

    id: str


@event("study-reopened")
class StudyReopened(Event):
    """A closed study was reopened, with other stop rules.

    `data` is the dataset that it uses from now on, if its file was dropped and uploaded again.
    """

    id: str
    stop: dict[str, Any]
    data: dict[str, str] = field(default_factory=dict)


@event("study-closed")
class StudyClosed(Event):
    """A study was closed, by request or by a stop rule."""

    id: str
    reason: str


@event("device-registered")
class DeviceRegistered(Event):
    """A device was registered; only the token that registered it may act for it."""

    name: str
    kind: str
    token: str


@event("device-left")
class DeviceLeft(Event):
    """A device left; if it was running a trial, that trial was lost first."""

    name: str
    reason: str


@event("trial-leased")
class TrialLeased(Event):
    """A decision was made and its trial leased; `barred` are the tenants that were at a limit."""

    id: str
    decision: Decision
    attempt: int
    barred: dict[str, str] = field(default_factory=dict)


@event("trial-completed")
class TrialCompleted(Event):
    """A trial ended with a score; `metrics` are other figures, `scores` intermediate scores.

    `look` is a look at its model, if the model is now the best of a study.
    """

    id: str
    score: float
    metrics: dict[str, float] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    look: dict[str, Any] = field(default_factory=dict)


@event("trial-failed")
class TrialFailed(Event):
    """A trial ended without a score; unless `final`, its arm may be tried again."""

    id: str
    reason: str
    final: bool


@event("trial-lost")
class TrialLost(Event):
    """The lease of a trial expired, or its device left."""

    id: str
    reason: str


@event("trial-released")
class TrialReleased(Event):
    """A trial was released untried; with `unable`, its device can never run that model."""

    id: str
    reason: str = ""
    unable: bool = False


@event("fit-requested")
class FitRequested(Event):
    """A tenant asked for a model of a study, trained on all rows; it replaces an earlier one."""

    id: str
    model: str


@event("fit-leased")
class FitLeased(Event):
    """A trial that fits a study's model was leased to a device; no decision was made."""

    id: str
    study: str
    device: str
    attempt: int


@event("fit-completed")
class FitCompleted(Event):
    """A trial ended with a fitted model; its file is stored, `hash` is its SHA-256."""

    id: str
    hash: str
    bytes: int
    versions: list[str]


@event("history-imported")
class HistoryImported(Event):
    """Past runs were imported: by study and model, the score, and the cost if known."""

    history: dict[str, dict[str, tuple[float, float | None]]]


VERSION = 1
# Omitted if empty, so that most bodies stay short.
_OPTIONAL = frozenset(
    {"unable", "drawn", "described", "data", "training", "metrics", "scores", "look"}
)
# (kind, version) -> the function that converts a body of that version to the next.
_UPGRADES: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def name_of(kind: type[Event]) -> str:
    """Return the name of a kind of event in the log."""
    return _NAMES[kind]


def kind_of(event: Event) -> str:
    """Return the name of the event's kind in the log."""
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """Return the event's body as ASCII JSON; floats are exact."""
    body = {
        name: value
        for name in _FIELDS[type(event)]
        if (value := getattr(event, name)) or name not in _OPTIONAL
    }
    if isinstance(event, TrialLeased):
        body["decision"] = decision_to_dict(event.decision)
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def decode(kind: str, version: int, body: str) -> Event:
    """Return the event that was stored."""
    make = KINDS.get(kind)
    if make is None or not 1 <= version <= VERSION:
        raise InvalidRecording(
            f"the log contains an event {kind!r} of version {version}, which this version of "
            "Bentham does not support; use the version that wrote it, or a newer one"
        )
    try:
        fields = json.loads(body)
        for step in range(version, VERSION):
            fields = _UPGRADES[kind, step](fields)
        if make is TrialLeased:
            fields["decision"] = decision_from_dict(fields["decision"])
        elif make is HistoryImported:
            fields["history"] = {
                study: {model: (float(score), cost) for model, (score, cost) in runs.items()}
                for study, runs in fields["history"].items()
            }
        return make(**fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidRecording(f"the log contains a malformed {kind} event ({error})") from None
