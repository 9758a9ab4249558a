"""What happens to a scheduler. Its state is a fold over these, and nothing else.

Events are frozen and carry the time at which they happened; the core never asks for the time.
A decision is itself an event (`TrialStarted`): recovery applies it and does not make it again.

    trial:  TrialStarted -> running -> TrialCompleted | TrialFailed | TrialLost | TrialReleased
    arm:    untried -> running -> observed | failed | (lost) untried again, a few times
                               | (released) untried again
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bentham.core.problem.decision import Change, Decision, DeviceName, Gain, Reason, RunnerUp
from bentham.core.problem.study import ModelDescription, Study
from bentham.errors import InvalidRecording


@dataclass(frozen=True, slots=True)
class StudyAdded:
    """A study asks to be served."""

    time: float
    study: Study


@dataclass(frozen=True, slots=True)
class StudyRemoved:
    """A study wants no more; what was learned on its dataset stays."""

    time: float
    study: str


@dataclass(frozen=True, slots=True)
class StudyWeighted:
    """A study counts for more or less from now on."""

    time: float
    study: str
    weight: float


@dataclass(frozen=True, slots=True)
class HistoryAdded:
    """Past runs became known: by dataset and model, the score and what it cost, if known."""

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
    """An idle device leaves; a busy one loses its trial first."""

    time: float
    device: DeviceName


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A decision was made, and its trial runs."""

    time: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class TrialCompleted:
    """A trial ended with a score: its arm is observed."""

    time: float
    trial: int
    score: float


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A trial ended without a score: its arm is given up."""

    time: float
    trial: int
    reason: str


@dataclass(frozen=True, slots=True)
class TrialLost:
    """A trial was never heard of again: its arm may be tried again, up to the attempts set."""

    time: float
    trial: int


@dataclass(frozen=True, slots=True)
class TrialReleased:
    """A trial was given back before it ended; unlike a loss, this is no attempt."""

    time: float
    trial: int


Event = (
    StudyAdded
    | StudyRemoved
    | StudyWeighted
    | HistoryAdded
    | DeviceAdded
    | DeviceRemoved
    | TrialStarted
    | TrialCompleted
    | TrialFailed
    | TrialLost
    | TrialReleased
)

_KINDS: dict[str, Callable[..., Event]] = {
    "study-added": StudyAdded,
    "study-removed": StudyRemoved,
    "study-weighted": StudyWeighted,
    "history-added": HistoryAdded,
    "device-added": DeviceAdded,
    "device-removed": DeviceRemoved,
    "trial-started": TrialStarted,
    "trial-completed": TrialCompleted,
    "trial-failed": TrialFailed,
    "trial-lost": TrialLost,
    "trial-released": TrialReleased,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as plain data, fit for JSON; floats survive exactly."""
    data = {"event": _NAMES[type(event)], **asdict(event)}
    if isinstance(event, StudyAdded) and not event.study.descriptions:
        del data["study"]["descriptions"]  # as studies were told before there were any
    return data


# What a field of any event or decision may hold; the same name means the same thing everywhere.
_NUMBER = (int, float)
_TYPES: dict[str, tuple[type, ...]] = {
    "time": _NUMBER, "score": _NUMBER, "cost": _NUMBER, "rate": _NUMBER, "weight": _NUMBER,
    "floor": _NUMBER, "expected_improvement": _NUMBER, "value": (*_NUMBER, type(None)),
    "trial": (int,), "device": (str, int),
    "kind": (str,), "rows": (int, type(None)), "columns": (int, type(None)),
    "name": (str,), "study": (str,), "dataset": (str,), "model": (str,), "reason": (str,),
    "costs": (dict,), "decision": (dict,), "gains": (list,), "runners_up": (list,),
    "changes": (list,), "rule": (str,), "tenant": (str,), "history": (dict,),
    "descriptions": (dict,), "family": (str,), "features": (dict,),
}  # fmt: skip


def _typed(data: Any) -> dict[str, Any]:
    """A copy of the fields, each of a type that it may have."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r} is not an object")
    for name, value in data.items():
        kinds = _TYPES.get(name, (object,))
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}")
    return dict(data)


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """The event that `event_to_dict` gave as plain data."""
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
        elif kind is TrialStarted:
            fields["decision"] = decision_from_dict(fields["decision"])
        elif kind is HistoryAdded:
            fields["history"] = _history_from_dict(fields["history"])
        return kind(**fields)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidRecording(f"malformed {data.get('event')} event: {error}") from error


def _study_from_dict(data: Any) -> Study:
    fields = _typed(data)
    fields["descriptions"] = {
        model: ModelDescription(**_typed(description))
        for model, description in fields.get("descriptions", {}).items()
    }
    return Study(**fields)


def decision_to_dict(decision: Decision) -> dict[str, Any]:
    """The decision as plain data; written out, since a service does this for every trial."""
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
    """The decision that `asdict` gave as plain data."""
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
