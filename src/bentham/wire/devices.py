"""Devices, the leases they take and the trials they run."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import Answered, Asked, Number, Prose, Slug, Text

LONGEST_WAIT = 30.0
TrialState = Literal["running", "complete", "failed", "lost"]


class DeviceCreate(Asked):
    """A device joins, or joins again: then the trial that it ran, if any, is lost."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "gpu-0", "kind": "a100"}]})

    name: Slug
    kind: Text = ""


class Device(Answered):
    """A device; `trial` is what it runs, `seen` when it was heard of last."""

    name: str
    kind: str
    state: Literal["idle", "busy"]
    trial: str | None
    registered: float
    seen: float
    busy_seconds: float


class LeaseRequest(Asked):
    """An idle device asks what to run; the server may take up to `wait` seconds to find it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 20.0}]})

    wait: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT)] = 0.0


class Lease(Answered):
    """A trial to run. Renew it by heartbeats; every report names the `fence`."""

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


class _Fenced(Asked):
    fence: Annotated[int, Field(ge=0, lt=2**63)]


class Heartbeat(_Fenced):
    """The trial still runs."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"fence": 17}]})


class Renewal(Answered):
    """The lease holds for so many seconds from now."""

    trial: str
    lease_seconds: float
    heartbeat_seconds: float


class Complete(_Fenced):
    """The trial ended with a score; larger is better."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"fence": 17, "score": 0.93}]})

    score: Number


class Fail(_Fenced):
    """The trial ended without a score; unless `final`, its arm may be tried again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "reason": "out of memory", "final": True}]}
    )

    reason: Prose = ""
    final: bool = False


class Release(_Fenced):
    """The device gives the trial back untried; this does not count as an attempt."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"fence": 17}]})


class Trial(Answered):
    """One run of an arm on a device. `cost` is what it was expected to take."""

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
