"""Devices, the leases they take and the trials they run."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import Name, Number, Prose, RequestBody, ResponseBody, Slug, Text
from bentham.wire.training import Setting, Training

LONGEST_WAIT = 30.0
MOST_METRICS, MOST_SCORES = 50, 200
TrialState = Literal["running", "complete", "failed", "lost"]


class DeviceCreate(RequestBody):
    """A device joins, or joins again: then the trial that it ran, if any, is lost."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "gpu-0", "kind": "a100"}]})

    name: Slug
    kind: Text = ""


class DeviceView(ResponseBody):
    """A device; `trial` is what it runs, `seen` when it was heard of last."""

    name: str
    kind: str
    state: Literal["idle", "busy"]
    trial: str | None
    registered: float
    seen: float
    busy_seconds: float


class LeaseRequest(RequestBody):
    """An idle device asks what to run; the server may take up to `wait` seconds to find it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 20.0}]})

    wait: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT)] = 0.0


class Lease(ResponseBody):
    """A trial to run. Renew it by heartbeats; every report names the `fence`.

    A study over data says by `training` what to train on; `algorithm` and `configuration` are what
    the model's name stands for, where the operator's catalogue made it.
    """

    trial: str
    fence: int
    device: str
    tenant: str
    study: str
    study_name: str
    dataset: str
    metric: str
    model: str
    cost: float
    attempt: int
    lease_seconds: float
    heartbeat_seconds: float
    algorithm: str = ""
    configuration: dict[str, Setting] = {}
    training: Training | None = None


class _Fenced(RequestBody):
    fence: Annotated[int, Field(ge=0, lt=2**63)]


class Heartbeat(_Fenced):
    """The trial still runs: how far it is, from 0 to 1, and its scores on the way, all so far."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "progress": 0.4, "scores": [0.91, 0.93]}]}
    )

    progress: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    scores: Annotated[list[Number], Field(max_length=MOST_SCORES)] = []


class Renewal(ResponseBody):
    """The lease holds for so many seconds from now."""

    trial: str
    lease_seconds: float
    heartbeat_seconds: float


class Complete(_Fenced):
    """The trial ended with a score; larger is better.

    `metrics` are other figures of it, `scores` those on the way.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"fence": 17, "score": 0.93}]})

    score: Number
    metrics: Annotated[dict[Name, Number], Field(max_length=MOST_METRICS)] = {}
    scores: Annotated[list[Number], Field(max_length=MOST_SCORES)] = []


class Fail(_Fenced):
    """The trial ended without a score; unless `final`, its arm may be tried again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "reason": "out of memory", "final": True}]}
    )

    reason: Prose = ""
    final: bool = False


class Release(_Fenced):
    """The device gives the trial back untried; this does not count as an attempt.

    `unable` says that it can never run this model, as what is not installed there; when every
    device has said so, the model fails.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "reason": "the device leaves"}]}
    )

    reason: Prose = ""
    unable: bool = False


class TrialView(ResponseBody):
    """One run of an arm on a device. `cost` is what it was expected to take.

    `progress` and `scores` tell how far it is, and what it scored on the way; `metrics` are other
    figures that it ended with.
    """

    id: str
    tenant: str
    study: str
    dataset: str
    model: str
    device: str
    kind: str
    state: TrialState
    attempt: int
    cost: float
    started: float
    ended: float | None
    score: float | None
    reason: str
    progress: float | None = None
    scores: list[float] = []
    metrics: dict[str, float] = {}
