"""Training on real data: the data, the target, the split, the metric and the algorithm."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from bentham.wire.base import Name, RequestBody, ResponseBody
from bentham.wire.datasets import MOST_COLUMNS, ColumnName, ColumnType, Format

Task = Literal["classification", "regression"]
SplitKind = Literal["holdout", "folds"]
# The value of a hyperparameter.
Setting: TypeAlias = bool | int | float | str | None
MOST_FOLDS = 20


class SplitAsked(RequestBody):
    """How rows are held out to evaluate a model: a share once, or each fold in turn.

    By default, small data is split into folds and a share is held out of large data. `seed` is the
    random seed of the split and the models.
    """

    kind: SplitKind | None = None
    folds: Annotated[int, Field(ge=2, le=MOST_FOLDS)] = 5
    share: Annotated[float, Field(ge=0.05, le=0.5)] = 0.25
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


class DataAsked(RequestBody):
    """The data of a study: a dataset by id or name, and the column to predict.

    `task` and the `types` of columns are inferred unless given.
    """

    dataset: Name
    target: ColumnName
    task: Task | None = None
    types: Annotated[dict[ColumnName, ColumnType], Field(max_length=MOST_COLUMNS)] = {}
    split: SplitAsked = SplitAsked()


class Split(ResponseBody):
    """How rows are held out; `folds` applies if `kind` is folds, `share` if it is holdout."""

    kind: SplitKind
    folds: int
    share: float
    seed: int


class Training(ResponseBody):
    """Everything that a score depends on, except the model.

    `columns` are those to learn from, with their types, in the order of the file; `reads` is the
    type of the target. `classes` is the number of classes, 0 for regression; `positive` is the one
    of two classes that average precision is about, or `yes` if the classes are named yes and no.
    `baseline` is the score of the best constant prediction. `notes` say what was inferred, and how
    irregularities in the data are handled.
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
    reads: ColumnType | None = None  # None in studies of older versions
    positive: str | None = None
    baseline: float = 0.0
    notes: list[str] = []


class Algorithm(ResponseBody):
    """An algorithm of the operator's catalogue, which tenants refer to by name.

    `needs_data` means that its studies must name a dataset. `space` describes, for people, the
    hyperparameters that vary.
    """

    name: str
    title: str
    family: str
    tasks: list[Task]
    needs_data: bool
    configuration: dict[str, Setting]  # the defaults
    space: dict[str, str]


class Metric(ResponseBody):
    """A metric of predictions. Larger scores are always better."""

    name: str
    task: Task
    title: str
    score: str  # how the score is computed from it
    aliases: list[str] = []  # other names that are understood, in any spelling
