"""What happens to a pool. Its state is a fold over these, and nothing else.

A new event is a class here and an entry in `table`.

Each is stored by its kind and the version of its body. A body that changes gets a higher version,
and `_UPGRADES` says how an older one is read: the log is never rewritten.
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
    """Something that happened."""

    __slots__ = ()


Kind = TypeVar("Kind", bound=type[Event])
KINDS: dict[str, type[Event]] = {}  # by what they are called in the log
_NAMES: dict[type[Event], str] = {}
_FIELDS: dict[type[Event], tuple[str, ...]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def event(name: str) -> Callable[[Kind], Kind]:
    """A kind of event by this name: a frozen dataclass, and what its body holds."""

    def make(kind: Kind) -> Kind:
        made: Any = dataclass(frozen=True, slots=True)(kind)
        KINDS[name], _NAMES[made] = made, name
        _FIELDS[made] = tuple(each.name for each in dataclasses.fields(made))
        return made  # type: ignore[no-any-return]

    return make


@event("pool-created")
class PoolCreated(Event):
    """The first event of every log: how decisions are made. `prior` is None for a learned one."""

    policy: str
    warm_start: str
    seed: int
    attempts: int
    cost_exponent: float
    prior: dict[str, Any] | None = None


@event("settings-changed")
class SettingsChanged(Event):
    """What an operator may change with every start."""

    patience: int | None


@event("request-noted")
class RequestNoted(Event):
    """A request that found nothing to change, about a study or a trial; its key is known now."""

    id: str


@event("tenant-created")
class TenantCreated(Event):
    """A tenant joins."""

    name: str
    weight: float
    limits: dict[str, float | None]


@event("tenant-changed")
class TenantChanged(Event):
    """A tenant weighs otherwise or has other limits from now on."""

    name: str
    weight: float
    limits: dict[str, float | None]


@event("token-issued")
class TokenIssued(Event):
    """A token is good from now on; of its secret only the hash is kept."""

    id: str
    role: str
    tenant: str | None
    label: str
    hash: str
    expires: float | None


@event("token-revoked")
class TokenRevoked(Event):
    """A token is good no longer."""

    id: str


@event("dataset-added")
class DatasetAdded(Event):
    """A table of data; its content is kept by its hash. Without a tenant it is for everybody."""

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


@event("dataset-dropped")
class DatasetDropped(Event):
    """A dataset can be named no longer; studies over it keep what they found out."""

    id: str
    tenant: str


@event("study-created")
class StudyCreated(Event):
    """A tenant wants the best model for its data.

    `data` names the dataset that it is over, `training` is all else that scores depend on, said by
    the first study over the same. `described` are models drawn from the catalogue that nobody
    listed before, and what they stand for.
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
    drawn: bool = False  # whether its models came from the catalogue
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


@event("study-paused")
class StudyPaused(Event):
    """No new trials for a study, until it is resumed."""

    id: str


@event("study-resumed")
class StudyResumed(Event):
    """A paused study goes on."""

    id: str


@event("study-closed")
class StudyClosed(Event):
    """A study is over, by request or by a stop rule."""

    id: str
    reason: str


@event("device-registered")
class DeviceRegistered(Event):
    """A device joins; only the token that registered it may speak for it."""

    name: str
    kind: str
    token: str


@event("device-left")
class DeviceLeft(Event):
    """A device leaves; it is idle."""

    name: str
    reason: str


@event("trial-leased")
class TrialLeased(Event):
    """A decision, and the lease of its trial; `barred` are the tenants that were at a limit."""

    id: str
    decision: Decision
    attempt: int
    barred: dict[str, str] = field(default_factory=dict)


@event("trial-completed")
class TrialCompleted(Event):
    """A trial ended with a score; `metrics` are other figures, `scores` those on the way."""

    id: str
    score: float
    metrics: dict[str, float] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)


@event("trial-failed")
class TrialFailed(Event):
    """A trial ended without a score; unless `final`, its arm may be tried again."""

    id: str
    reason: str
    final: bool


@event("trial-lost")
class TrialLost(Event):
    """A trial was not heard of in time, or its device is gone."""

    id: str
    reason: str


@event("trial-released")
class TrialReleased(Event):
    """A trial was given back untried; `unable`: its device can never run that model."""

    id: str
    reason: str = ""
    unable: bool = False


@event("history-imported")
class HistoryImported(Event):
    """Past runs, by study and model: the score, and the cost if known."""

    history: dict[str, dict[str, tuple[float, float | None]]]


VERSION = 1
# Left out where there is nothing to say, so that most bodies stay as short as ever.
_OPTIONAL = frozenset({"unable", "drawn", "described", "data", "training", "metrics", "scores"})
# (kind, version) -> what makes a body of that version one of the next.
_UPGRADES: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def name_of(kind: type[Event]) -> str:
    """What a kind of event is called in the log."""
    return _NAMES[kind]


def kind_of(happened: Event) -> str:
    """What the event's kind is called in the log."""
    return _NAMES[type(happened)]


def encode(happened: Event) -> str:
    """The event's body as JSON, in ASCII; floats survive exactly."""
    body = {
        name: value
        for name in _FIELDS[type(happened)]
        if (value := getattr(happened, name)) or name not in _OPTIONAL
    }
    if isinstance(happened, TrialLeased):
        body["decision"] = decision_to_dict(happened.decision)
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def decode(kind: str, version: int, body: str) -> Event:
    """The event that was stored."""
    make = KINDS.get(kind)
    if make is None or not 1 <= version <= VERSION:
        raise InvalidRecording(
            f"the log holds an event {kind!r} of version {version}, which this Bentham does not "
            "know; use the Bentham that wrote it, or a newer one"
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
        raise InvalidRecording(f"the log holds a malformed {kind} event ({error})") from None
