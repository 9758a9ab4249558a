"""What-if questions: more or fewer devices."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import LARGEST, RequestBody, ResponseBody

MOST_DEVICES, MOST_DRAWS = 64, 256
WhatIfState = Literal["waiting", "running", "complete", "failed", "cancelled"]


class WhatIfCreate(RequestBody):
    """When would mean regret fall below `regret`, with this number of `devices`?

    By default `regret` is half of the overview's estimate of mean regret, and `devices` twice the
    number present, at most 64. More `draws` make the bands more accurate and take longer.
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

    It is about the moment when it was asked, however long it waits. `now` is the number of devices
    then, `estimate` the estimate of mean regret over the open `studies` (the overview's), and
    `sequence` the last event of the log. The answer uses `simulated` of the `draws`.
    """

    id: str
    state: WhatIfState
    progress: float
    reason: str
    created: float
    regret: float
    devices: int
    now: int
    estimate: float
    draws: int
    simulated: int
    studies: int
    sequence: int
    answers: list[WhatIfAnswer]
    curves: list[WhatIfCurve]
    notes: list[str]
