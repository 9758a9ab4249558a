"""A study's request for its training, and its plan: everything that a score depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bentham.training.dataset import ColumnType, Format

Task = Literal["classification", "regression"]
SplitKind = Literal["holdout", "folds"]
NAMED_YES, NAMED_NO = "yes", "no"  # the classes of a yes-no target of several spellings


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """How to hold out rows to evaluate a model: one share of them, or each fold in turn.

    Without a `kind`, folds are used for small data and one share for large data.
    """

    kind: SplitKind | None = None
    folds: int = 5
    share: float = 0.25
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The column to predict; `task`, `metric` and column `types` that are missing are inferred."""

    target: str
    metric: str | None = None
    task: Task | None = None
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    split: SplitRequest = SplitRequest()


class RowSplit(BaseModel):
    """How rows are held out; `folds` applies if `kind` is folds, `share` if it is holdout."""

    model_config = ConfigDict(frozen=True)

    kind: SplitKind
    folds: int
    share: float
    seed: int


class TrainingPlan(BaseModel):
    """Everything that a score depends on, except the model.

    `columns` are those to learn from, with their types, in the order of the file; `reads` is the
    type of the target, `positive` the class that average precision is about (of two classes); with
    other metrics it is given only if the classes are named yes and no, however they are written.
    `classes` is the number of classes, 0 in regression. `baseline` is the score of the best
    constant prediction. `notes` say what was inferred and how unusual data is handled.
    """

    model_config = ConfigDict(frozen=True)

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
    split: RowSplit
    reads: ColumnType | None = None  # None in plans that older versions made: any other type
    positive: str | None = None  # None: the one that sorts last
    baseline: float = 0.0
    notes: list[str] = []
