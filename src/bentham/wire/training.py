"""What a trial trains on real data: the data, the target, how it is judged, and the model."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from bentham.wire.base import Name, RequestBody, ResponseBody
from bentham.wire.datasets import MOST_COLUMNS, ColumnName, ColumnType, Format

Task = Literal["classification", "regression"]
SplitKind = Literal["holdout", "folds"]
# A value of a hyperparameter.
Setting: TypeAlias = bool | int | float | str | None
MOST_FOLDS = 20


class SplitAsked(RequestBody):
    """How rows are held out to judge a model: a share once, or each fold in turn.

    Without a `kind` small data is judged by folds and large data by one share.
    """

    kind: SplitKind | None = None
    folds: Annotated[int, Field(ge=2, le=MOST_FOLDS)] = 5
    share: Annotated[float, Field(ge=0.05, le=0.5)] = 0.25
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class DataAsked(RequestBody):
    """The data of a study: a dataset by its id or name, and the column to predict.

    `task` and the `types` of columns are inferred where they are not said.
    """

    dataset: Name
    target: ColumnName
    task: Task | None = None
    types: Annotated[dict[ColumnName, ColumnType], Field(max_length=MOST_COLUMNS)] = {}
    split: SplitAsked = SplitAsked()


class Split(ResponseBody):
    """How rows are held out; `folds` counts where `kind` is folds, `share` where it is holdout."""

    kind: SplitKind
    folds: int
    share: float
    seed: int


class Training(ResponseBody):
    """All that a score depends on, but for the model.

    `columns` are those to learn from, each a number or a category, in the order of the file.
    `classes` is how many there are to tell apart, 0 in regression. `notes` say what was inferred
    and how what is odd in the data is dealt with.
    """

    dataset: str  # the id
    name: str
    hash: str
    format: Format
    delimiter: str
    bytes: int
    target: str
    task: Task
    metric: str
    classes: int
    columns: dict[str, ColumnType]
    split: Split
    notes: list[str] = []


class Algorithm(ResponseBody):
    """What a study may choose from: installed by the operator, named by tenants.

    `needs_data` is whether its studies name a dataset. `space` tells, for people, what may vary.
    """

    name: str
    title: str
    family: str
    tasks: list[Task]
    needs_data: bool
    configuration: dict[str, Setting]  # the defaults
    space: dict[str, str]


class Metric(ResponseBody):
    """How predictions are judged. Scores are always better when larger."""

    name: str
    task: Task
    title: str
    score: str  # how the score is made of it
