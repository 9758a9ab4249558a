"""What-if questions: more or fewer devices."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import LARGEST, RequestBody, ResponseBody

MOST_DEVICES, MOST_DRAWS = 64, 256
WhatIfState = Literal["waiting", "running", "complete", "failed", "cancelled"]


class WhatIfCreate(RequestBody):
    """When would mean regret fall below `regret`, with this number of `devices`?

    By default `regret` is half of the current estimate, and `devices` twice the number registered,
    at most 64. More `draws` make the bands more accurate and take longer.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"regret": 0.02, "devices": 8}]})

    regret: Annotated[float, Field(gt=0.0, le=LARGEST)] | None = None
    devices: Annotated[int, Field(ge=1, le=MOST_DEVICES)] | None = None
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 16


class WhatIfAnswer(ResponseBody):
    """Seconds until regret falls below the level, for one number of devices and one policy.

    `median`, `low` and `high` are the median, 10th and 90th percentile over the draws; None if the
    level was not reached within the simulated time. `reached` is the share of draws that did.
    """

    devices: int
    policy: str
    median: float | None
    low: float | None
    high: float | None
    reached: float


class WhatIfCurve(ResponseBody):
    """Mean regret by seconds from now: median, 10th and 90th percentile over the draws."""

    devices: int
    policy: str
    times: list[float]
    regret: list[float]
    low: list[float]
    high: list[float]


class WhatIf(ResponseBody):
    """A question and its answer so far, which improves while it is `running`.

    `now` is the number of registered devices, `estimate` the estimate of mean regret now. Both may
    change until the question runs; `estimate`, and `regret` if left out, are known only then.
    `simulated` of the `draws` are done. `sequence` is the last event of the log that was read.
    """

    id: str
    state: WhatIfState
    progress: float
    reason: str
    created: float
    regret: float | None
    devices: int
    now: int
    estimate: float | None
    draws: int
    simulated: int
    studies: int
    sequence: int
    answers: list[WhatIfAnswer]
    curves: list[WhatIfCurve]
    notes: list[str]
