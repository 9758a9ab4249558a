"""The events of a scheduler. Its state is a fold over its events and depends on nothing else.

Events are frozen and carry the time at which they happened; the core never reads a clock.
A decision is itself an event (`ArmStarted`): recovery applies it and does not decide again.

    trial:  ArmStarted -> running -> ArmObserved | ArmFailed | ArmLost | ArmReleased
    arm:    untried -> running -> observed | failed | (lost) untried again, until out of attempts
                               | (released) untried again
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bentham.core.problem.decision import Change, Decision, DeviceName, Gain, Reason, RunnerUp
from bentham.core.problem.study import ModelDescription, StudySpec
from bentham.errors import InvalidRecording


@dataclass(frozen=True, slots=True)
class StudyAdded:
    """A study is added and served from now on."""

    time: float
    study: StudySpec


@dataclass(frozen=True, slots=True)
class StudyRemoved:
    """A study is removed; what was learned from its dataset is kept."""

    time: float
    study: str


@dataclass(frozen=True, slots=True)
class StudyWeighted:
    """The weight of a study changes."""

    time: float
    study: str
    weight: float


@dataclass(frozen=True, slots=True)
class HistoryAdded:
    """Past runs are added: (score, cost) by dataset and model; an unknown cost is None."""

    time: float
    history: Mapping[str, Mapping[str, tuple[float, float | None]]]


@dataclass(frozen=True, slots=True)
class DeviceAdded:
    """A device joins; devices of one kind are equally fast."""

    time: float
    device: DeviceName
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DeviceRemoved:
    """An idle device leaves; a busy device must lose its trial first."""

    time: float
    device: DeviceName


@dataclass(frozen=True, slots=True)
class ArmStarted:
    """A decision was made and its trial runs."""

    time: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class ArmObserved:
    """A trial ended with a score: its arm is observed."""

    time: float
    trial: int
    score: float


@dataclass(frozen=True, slots=True)
class ArmFailed:
    """A trial ended without a score: its arm is not tried again."""

    time: float
    trial: int
    reason: str


@dataclass(frozen=True, slots=True)
class ArmLost:
    """A trial was lost, e.g. with its device: its arm may run again, up to the attempts set."""

    time: float
    trial: int


@dataclass(frozen=True, slots=True)
class ArmReleased:
    """A trial was returned before it ended; unlike a loss, it does not count as an attempt."""

    time: float
    trial: int


Event = (
    StudyAdded
    | StudyRemoved
    | StudyWeighted
    | HistoryAdded
    | DeviceAdded
    | DeviceRemoved
    | ArmStarted
    | ArmObserved
    | ArmFailed
    | ArmLost
    | ArmReleased
)

_KINDS: dict[str, Callable[..., Event]] = {
    "study-added": StudyAdded,
    "study-removed": StudyRemoved,
    "study-weighted": StudyWeighted,
    "history-added": HistoryAdded,
    "device-added": DeviceAdded,
    "device-removed": DeviceRemoved,
    "trial-started": ArmStarted,
    "trial-completed": ArmObserved,
    "trial-failed": ArmFailed,
    "trial-lost": ArmLost,
    "trial-released": ArmReleased,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return the event as plain data for JSON; floats are preserved exactly."""
    data = {"event": _NAMES[type(event)], **asdict(event)}
    if isinstance(event, StudyAdded):
        for name in ("descriptions", "gain_share"):  # as in recordings made before these existed
            if not data["study"][name]:
                del data["study"][name]
    return data


# Allowed types of the fields of events and decisions; a name means the same thing in all of them.
_NUMBER = (int, float)
_TYPES: dict[str, tuple[type, ...]] = {
    "time": _NUMBER, "score": _NUMBER, "cost": _NUMBER, "rate": _NUMBER, "weight": _NUMBER,
    "floor": _NUMBER, "expected_improvement": _NUMBER, "value": (*_NUMBER, type(None)),
    "trial": (int,), "device": (str, int),
    "kind": (str,), "rows": (int, type(None)), "columns": (int, type(None)),
    "name": (str,), "study": (str,), "dataset": (str,), "model": (str,), "reason": (str,),
    "costs": (dict,), "decision": (dict,), "gains": (list,), "runners_up": (list,),
    "changes": (list,), "rule": (str,), "tenant": (str,), "history": (dict,),
    "descriptions": (dict,), "family": (str,), "features": (dict,), "gain_share": _NUMBER,
}  # fmt: skip


def _typed(data: Any) -> dict[str, Any]:
    """Return a copy of the fields, after checking the type of each."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r} is not an object")
    for name, value in data.items():
        kinds = _TYPES.get(name, (object,))
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}, which has the wrong type")
    return dict(data)


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Return the event that `event_to_dict` turned into plain data.

    Args:
        data: One event: its kind under "event", and its fields.

    Raises:
        InvalidRecording: The kind is unknown, or a field is missing or has the wrong type. The
            message names it; correct or remove that event.
    """
    kind = _KINDS.get(str(data.get("event")))
    if kind is None:
        raise InvalidRecording(f"unknown event {data.get('event')!r}; known: {', '.join(_KINDS)}")
    try:
        fields = dict(data)
        del fields["event"]
        study = fields.pop("study") if kind is StudyAdded else None
        fields = _typed(fields)
        if study is not None:
            fields["study"] = _study_from_dict(study)
        elif kind is ArmStarted:
            fields["decision"] = decision_from_dict(fields["decision"])
        elif kind is HistoryAdded:
            fields["history"] = _history_from_dict(fields["history"])
        return kind(**fields)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidRecording(f"malformed {data.get('event')} event: {error}") from error


def _study_from_dict(data: Any) -> StudySpec:
    fields = _typed(data)
    fields["descriptions"] = {
        model: ModelDescription(**_typed(description))
        for model, description in fields.get("descriptions", {}).items()
    }
    return StudySpec(**fields)


def decision_to_dict(decision: Decision) -> dict[str, Any]:
    """Return the decision as plain data.

    Spelled out because `asdict` is slow and a service does this for every trial.
    """
    return {
        "trial": decision.trial,
        "device": decision.device,
        "study": decision.study,
        "dataset": decision.dataset,
        "model": decision.model,
        "reason": decision.reason.value,
        "value": decision.value,
        "cost": decision.cost,
        "gains": [
            {
                "study": gain.study,
                "expected_improvement": gain.expected_improvement,
                "weight": gain.weight,
            }
            for gain in decision.gains
        ],
        "expected_improvement": decision.expected_improvement,
        "rate": decision.rate,
        "runners_up": [_runner_up_to_dict(other) for other in decision.runners_up],
        "changes": [
            {"rule": change.rule, "instead": _runner_up_to_dict(change.instead)}
            for change in decision.changes
        ],
    }


def _runner_up_to_dict(other: RunnerUp) -> dict[str, Any]:
    return {
        "study": other.study,
        "dataset": other.dataset,
        "model": other.model,
        "value": other.value,
    }


def decision_from_dict(data: Mapping[str, Any]) -> Decision:
    """Return the decision that `decision_to_dict` or `asdict` turned into plain data."""
    fields = _typed(data)
    fields["reason"] = Reason(fields["reason"])
    fields["gains"] = tuple(Gain(**_typed(gain)) for gain in fields["gains"])
    fields["runners_up"] = tuple(RunnerUp(**_typed(other)) for other in fields["runners_up"])
    fields["changes"] = tuple(
        Change(change["rule"], RunnerUp(**_typed(change["instead"])))
        for change in map(_typed, fields.get("changes", ()))
    )
    return Decision(**fields)


def _history_from_dict(data: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float | None]]]:
    return {
        str(dataset): {
            str(model): (float(score), None if cost is None else float(cost))
            for model, (score, cost) in runs.items()
        }
        for dataset, runs in data.items()
    }
