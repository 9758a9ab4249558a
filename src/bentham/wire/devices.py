"""Devices, the leases they take and the trials they run."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import Name, Number, Prose, RequestBody, ResponseBody, Slug, Text
from bentham.wire.looks import ModelLook
from bentham.wire.training import Setting, Training

LONGEST_WAIT = 30.0
MOST_METRICS, MOST_SCORES = 50, 200
TrialState = Literal["running", "complete", "failed", "lost"]
# Whether a trial scores a model, or fits it on all rows for its tenant to keep.
Purpose = Literal["score", "fit"]


class DeviceCreate(RequestBody):
    """Registers a device. If it is registered already, the trial that it runs is lost."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "gpu-0", "kind": "a100"}]})

    name: Slug
    kind: Text = ""


class DeviceView(ResponseBody):
    """A device; `trial` is the trial it runs, `seen` the time of its last sign of life.

    A device without a sign of life for a while (`bentham serve --away`) is `away`, since
    `away_since`: the time of its last one. The next one makes it `present` again.
    """

    name: str
    kind: str
    state: Literal["idle", "busy"]
    presence: Literal["present", "away"]
    away_since: float | None
    trial: str | None
    registered: float
    seen: float
    busy_seconds: float


class LeaseRequest(RequestBody):
    """Requests a trial for an idle device; the server waits up to `wait` seconds for one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 20.0}]})

    wait: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT)] = 0.0


class Lease(ResponseBody):
    """A trial to run. Renew the lease by heartbeats; every report must include the `fence`.

    `training` is set for studies over data: what to train on. `algorithm` and `configuration` are
    set for models from the operator's catalogue. A score above `look_above` should be reported with
    a look at the model. If the `purpose` is to fit, train on all rows and upload the model;
    `recorded` is its score.
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
    purpose: Purpose = "score"
    look_above: float | None = None
    recorded: float | None = None


class _Fenced(RequestBody):
    fence: Annotated[int, Field(ge=0, lt=2**63)]


class Heartbeat(_Fenced):
    """The trial still runs: its progress, from 0 to 1, and all intermediate scores so far."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "progress": 0.4, "scores": [0.91, 0.93]}]}
    )

    progress: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    scores: Annotated[list[Number], Field(max_length=MOST_SCORES)] = []


class Renewal(ResponseBody):
    """The renewed lease; it expires `lease_seconds` from now."""

    trial: str
    lease_seconds: float
    heartbeat_seconds: float


class Complete(_Fenced):
    """The trial ended with a score; larger is better.

    `metrics` are further figures, `scores` the intermediate scores. A `look` is stored only if the
    model is the best so far of a study.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"fence": 17, "score": 0.93}]})

    score: Number
    metrics: Annotated[dict[Name, Number], Field(max_length=MOST_METRICS)] = {}
    scores: Annotated[list[Number], Field(max_length=MOST_SCORES)] = []
    look: ModelLook | None = None


class Fail(_Fenced):
    """The trial ended without a score; its arm may be retried unless `final`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "reason": "out of memory", "final": True}]}
    )

    reason: Prose = ""
    final: bool = False


class Release(_Fenced):
    """The device releases the trial without a result; this does not count as an attempt.

    `unable` means that the device can never run this model, for example because a package is not
    installed. If every device is unable, the model fails.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fence": 17, "reason": "the device leaves"}]}
    )

    reason: Prose = ""
    unable: bool = False


class TrialView(ResponseBody):
    """One run of an arm on a device. `cost` is its predicted duration in seconds.

    `progress` is from 0 to 1, `scores` are the intermediate scores, and `metrics` are the further
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
    purpose: Purpose = "score"
    study_name: str = ""
