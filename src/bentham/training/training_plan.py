"""What is asked of a study's training, and what is settled: all that a score depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bentham.training.dataset import ColumnType, Format

Task = Literal["classification", "regression"]
SplitKind = Literal["holdout", "folds"]


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """How rows shall be held out to judge a model: a share once, or each fold in turn.

    Without a `kind` small data is judged by folds and large data by one share.
    """

    kind: SplitKind | None = None
    folds: int = 5
    share: float = 0.25
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The column to predict; `task`, `metric` and the `types` of columns are inferred if None."""

    target: str
    metric: str | None = None
    task: Task | None = None
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    split: SplitRequest = SplitRequest()


class RowSplit(BaseModel):
    """How rows are held out; `folds` counts where `kind` is folds, `share` where it is holdout."""

    model_config = ConfigDict(frozen=True)

    kind: SplitKind
    folds: int
    share: float
    seed: int


class TrainingPlan(BaseModel):
    """All that a score depends on, but for the model.

    `columns` are those to learn from, each a number or a category, in the order of the file.
    `classes` is how many there are to tell apart, 0 in regression. `notes` say what was inferred
    and how what is odd in the data is dealt with.
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
    notes: list[str] = []
