"""A look at a trained model, and its fitted form: what a study's best model is and does.

A device sends a look with a score. It could send anything, so every list is bounded.
"""

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bentham.wire.base import Name, Number, RequestBody, ResponseBody, Text
from bentham.wire.training import Task

LARGEST_LOOK = 16 * 2**10  # in bytes, as JSON
MOST_CLASSES, MOST_LEVELS, MOST_PAIRS, MOST_THRESHOLDS, MOST_COLUMNS = 20, 20, 200, 50, 50
MOST_VERSIONS = 30
FittedState = Literal["waiting", "running", "ready", "failed"]
Rows = Annotated[int, Field(ge=0, le=10**12)]
Rate = Annotated[float, Field(ge=0.0, le=1.0)]
Label = Annotated[Text, Field(min_length=1, max_length=80)]
# Lists of fixed length; JSON has no tuples.
Level = Annotated[tuple[Rate, Number], Field(strict=False)]
Pair = Annotated[tuple[Number, Number], Field(strict=False)]
Point = Annotated[tuple[Number, Rate, Rate, Rate], Field(strict=False)]
Fall = Annotated[tuple[Label, Number, Number, Number], Field(strict=False)]
# A package and its version, as a line of a requirements file.
Requirement = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,60}==[A-Za-z0-9][A-Za-z0-9.+!_-]{0,60}$")
]


class _Part(BaseModel):
    """A part of a look; it is both sent and received."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, strict=True)


class Confusion(_Part):
    """How many held-out rows of each class (rows) were predicted as each (columns).

    If there are too many classes, the last row and column are for the `merged` rare ones.
    """

    classes: Annotated[list[Label], Field(min_length=1, max_length=MOST_CLASSES)]
    merged: Rows
    counts: Annotated[
        list[Annotated[list[Rows], Field(max_length=MOST_CLASSES)]], Field(max_length=MOST_CLASSES)
    ]

    @model_validator(mode="after")
    def _square(self) -> "Confusion":
        width = len(self.classes) + (self.merged > 0)
        if [len(row) for row in self.counts] != [width] * width:
            raise ValueError("counts must have a row and a column for each class")
        return self


class Residuals(_Part):
    """Quantiles of prediction minus true value, and a sample of [true, predicted]."""

    quantiles: Annotated[list[Level], Field(max_length=MOST_LEVELS)]
    sample: Annotated[list[Pair], Field(max_length=MOST_PAIRS)]


class Thresholds(_Part):
    """The curve over thresholds: [threshold, precision, recall, false positive rate].

    A row counts as `positive` if what the model predicts for that class is at least the threshold.
    """

    positive: Label
    rows: Rows
    points: Annotated[list[Point], Field(max_length=MOST_THRESHOLDS)]


class Importance(_Part):
    """How much the `score` of held-out rows falls when one column is shuffled.

    Columns are [name, mean, least, greatest fall], the most important first; `omitted` further ones
    were measured. For `unmeasured_count`, some of them listed, there was no time.
    """

    rows: Rows
    score: Number
    columns: Annotated[list[Fall], Field(max_length=MOST_COLUMNS)]
    omitted: Rows
    unmeasured: Annotated[list[Label], Field(max_length=MOST_COLUMNS)]
    unmeasured_count: Rows


class ModelLook(_Part):
    """A look at a model, from `rows` held-out predictions that its trial made."""

    rows: Rows
    confusion: Confusion | None = None
    residuals: Residuals | None = None
    thresholds: Thresholds | None = None
    importance: Importance | None = None

    @model_validator(mode="after")
    def _small(self) -> "ModelLook":
        if len(json.dumps(self.model_dump(exclude_none=True))) > LARGEST_LOOK:
            raise ValueError(f"is larger than {LARGEST_LOOK} bytes; send less")
        return self


class FitCreate(RequestBody):
    """Asks for a model trained on all rows; without `model`, the study's best so far."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": None}]})

    model: Name | None = None


class FittedModel(ResponseBody):
    """A model of a study, trained on all rows; `ready` means that its file can be downloaded.

    `reason` says why it waits or failed. `hash` is the SHA-256 of the file, `versions` are the
    packages that it needs.
    """

    id: str
    study: str
    model: str
    state: FittedState
    reason: str
    requested: float
    trial: str
    hash: str
    bytes: int
    versions: list[str]


class BestModel(ResponseBody):
    """A study's best model so far, a look at it, and the fitted model asked for last.

    `look` is None if no trial of this version measured it, as for models without a dataset.
    """

    study: str
    metric: str
    task: Task | None
    model: str | None
    score: float | None
    look: ModelLook | None
    fitted: FittedModel | None
