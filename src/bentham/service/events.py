"""What happens to a pool. Its state is a fold over these, and nothing else.

Each is stored by its kind and the version of its body. A body that changes gets a higher version,
and `_UPGRADES` says how an older one is read: the log is never rewritten.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from bentham.core.decision import Decision
from bentham.core.events import decision_from_dict, decision_to_dict
from bentham.errors import InvalidRecording


@dataclass(frozen=True, slots=True)
class PoolCreated:
    """The first event of every log: how decisions are made. `prior` is None for a learned one."""

    policy: str
    warm_start: str
    seed: int
    attempts: int
    cost_exponent: float
    prior: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """What an operator may change with every start."""

    patience: int | None


@dataclass(frozen=True, slots=True)
class RequestNoted:
    """A request that found nothing to change, about a study or a trial; its key is known now."""

    id: str


@dataclass(frozen=True, slots=True)
class TenantCreated:
    """A tenant joins."""

    name: str
    weight: float
    limits: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class TenantChanged:
    """A tenant weighs otherwise or has other limits from now on."""

    name: str
    weight: float
    limits: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class TokenIssued:
    """A token is good from now on; of its secret only the hash is kept."""

    id: str
    role: str
    tenant: str | None
    label: str
    hash: str
    expires: float | None


@dataclass(frozen=True, slots=True)
class TokenRevoked:
    """A token is good no longer."""

    id: str


@dataclass(frozen=True, slots=True)
class DatasetAdded:
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


@dataclass(frozen=True, slots=True)
class DatasetDropped:
    """A dataset can be named no longer; studies over it keep what they found out."""

    id: str
    tenant: str


@dataclass(frozen=True, slots=True)
class StudyCreated:
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


@dataclass(frozen=True, slots=True)
class StudyPaused:
    """No new trials for a study, until it is resumed."""

    id: str


@dataclass(frozen=True, slots=True)
class StudyResumed:
    """A paused study goes on."""

    id: str


@dataclass(frozen=True, slots=True)
class StudyClosed:
    """A study is over, by request or by a stop rule."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeviceRegistered:
    """A device joins; only the token that registered it may speak for it."""

    name: str
    kind: str
    token: str


@dataclass(frozen=True, slots=True)
class DeviceLeft:
    """A device leaves; it is idle."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TrialLeased:
    """A decision, and the lease of its trial; `barred` are the tenants that were at a limit."""

    id: str
    decision: Decision
    attempt: int
    barred: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrialCompleted:
    """A trial ended with a score; `metrics` are other figures, `scores` those on the way."""

    id: str
    score: float
    metrics: dict[str, float] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A trial ended without a score; unless `final`, its arm may be tried again."""

    id: str
    reason: str
    final: bool


@dataclass(frozen=True, slots=True)
class TrialLost:
    """A trial was not heard of in time, or its device is gone."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TrialReleased:
    """A trial was given back untried; `unable`: its device can never run that model."""

    id: str
    reason: str = ""
    unable: bool = False


@dataclass(frozen=True, slots=True)
class HistoryImported:
    """Past runs, by study and model: the score, and the cost if known."""

    history: dict[str, dict[str, tuple[float, float | None]]]


Event = (
    PoolCreated
    | SettingsChanged
    | RequestNoted
    | TenantCreated
    | TenantChanged
    | TokenIssued
    | TokenRevoked
    | DatasetAdded
    | DatasetDropped
    | StudyCreated
    | StudyPaused
    | StudyResumed
    | StudyClosed
    | DeviceRegistered
    | DeviceLeft
    | TrialLeased
    | TrialCompleted
    | TrialFailed
    | TrialLost
    | TrialReleased
    | HistoryImported
)

KINDS: dict[str, Callable[..., Event]] = {
    "pool-created": PoolCreated,
    "settings-changed": SettingsChanged,
    "request-noted": RequestNoted,
    "tenant-created": TenantCreated,
    "tenant-changed": TenantChanged,
    "token-issued": TokenIssued,
    "token-revoked": TokenRevoked,
    "dataset-added": DatasetAdded,
    "dataset-dropped": DatasetDropped,
    "study-created": StudyCreated,
    "study-paused": StudyPaused,
    "study-resumed": StudyResumed,
    "study-closed": StudyClosed,
    "device-registered": DeviceRegistered,
    "device-left": DeviceLeft,
    "trial-leased": TrialLeased,
    "trial-completed": TrialCompleted,
    "trial-failed": TrialFailed,
    "trial-lost": TrialLost,
    "trial-released": TrialReleased,
    "history-imported": HistoryImported,
}
_NAMES = {kind: name for name, kind in KINDS.items()}
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in dataclasses.fields(kind)) for kind in get_args(Event)
}
VERSION = 1
# Left out where there is nothing to say, so that most bodies stay as short as ever.
_OPTIONAL = frozenset({"unable", "drawn", "described", "data", "training", "metrics", "scores"})
# (kind, version) -> what makes a body of that version one of the next.
_UPGRADES: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}


def kind_of(event: Event) -> str:
    """What the event's kind is called in the log."""
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """The event's body as JSON, in ASCII; floats survive exactly."""
    body = {
        name: value
        for name in _FIELDS[type(event)]
        if (value := getattr(event, name)) or name not in _OPTIONAL
    }
    if isinstance(event, TrialLeased):
        body["decision"] = decision_to_dict(event.decision)
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
