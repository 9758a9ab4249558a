"""What if there were more devices, or fewer."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import LARGEST, RequestBody, ResponseBody

MOST_DEVICES, MOST_DRAWS = 64, 256
WhatIfState = Literal["waiting", "running", "complete", "failed", "cancelled"]


class WhatIfCreate(RequestBody):
    """When would mean regret fall below `regret`, with so many `devices`?

    Without `regret`: below half of what it is believed to be now; without `devices`: with twice as
    many as there are. More `draws` make the bands surer, and take longer.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"regret": 0.02, "devices": 8}]})

    regret: Annotated[float, Field(gt=0.0, le=LARGEST)] | None = None
    devices: Annotated[int, Field(ge=1, le=MOST_DEVICES)] | None = None
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 16


class WhatIfAnswer(ResponseBody):
    """In how many seconds it falls below, with so many devices under one policy.

    `low` and `high` are the 10th and 90th percentile over the draws; None where it did not get
    there within what was simulated. `reached` is the share of draws in which it did.
    """

    devices: int
    policy: str
    median: float | None
    low: float | None
    high: float | None
    reached: float


class WhatIfCurve(ResponseBody):
    """Mean regret so many seconds from now: its median over the draws, 10th and 90th percentile."""

    devices: int
    policy: str
    times: list[float]
    regret: list[float]
    low: list[float]
    high: list[float]


class WhatIf(ResponseBody):
    """A question and what is known of its answer, which gets better while it is `running`.

    `now` is how many devices there are, `estimate` mean regret as it is believed to be; both may
    change until it runs, and `estimate` and a `regret` left out are known only then. `simulated`
    of the `draws` are done. `sequence` is the event of the log up to which was read.
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
