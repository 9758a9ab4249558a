"""Studies: a dataset, a metric and the candidate models to choose among."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from bentham.wire.base import (
    Cost,
    Count,
    Name,
    Number,
    RequestBody,
    ResponseBody,
    Slug,
    Text,
    Weight,
)
from bentham.wire.training import DataAsked, Setting, Training

MOST_MODELS = 500
DEFAULT_CANDIDATES = 40
StudyState = Literal["open", "paused", "closed"]
CandidateState = Literal["untried", "running", "observed", "failed"]


class StopRules(RequestBody):
    """When a study closes by itself; the first that is met counts. None: does not count.

    `trials` counts those that ran and were not lost, `cost` is device time, `deadline` a time, and
    `expected_gain` the level below which no untried model is expected to raise the best score.
    """

    trials: Count | None = None
    cost: Annotated[float, Field(gt=0.0, le=1e12)] | None = None
    deadline: Annotated[float, Field(ge=0.0, le=1e11)] | None = None
    expected_gain: Annotated[float, Field(gt=0.0, le=1e50)] | None = None


def _mapping(models: Any) -> Any:
    """A list means that no cost is known."""
    if isinstance(models, dict | list) and len(models) > MOST_MODELS:
        # Counted before each is looked at: what is wrong with a million of them is not worth it.
        raise ValueError(f"there are {len(models):,} models; list at most {MOST_MODELS}")
    if isinstance(models, list) and all(isinstance(model, str) for model in models):
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice; list each once")
        return dict.fromkeys(models)
    return models


class StudyCreate(RequestBody):
    """A new study. An admin says for which tenant; a tenant's own token says it already.

    What to choose among is either listed one by one in `models`, which may map each to its expected
    device time (null: to be learned); or drawn from the operator's catalogue: so many `candidates`
    of these `algorithms`, or of all that suit the `data`, their defaults first. Studies of one
    tenant over the same data, target, metric and split, or the same `dataset` by name, share their
    arms: one trial serves both. Scores are better when larger.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "wine quality",
                    "dataset": "wine",
                    "metric": "accuracy",
                    "models": {"svm": 30.0, "forest": 120.0, "boosting": None},
                    "stop": {"trials": 40},
                },
                {
                    "name": "churn",
                    "data": {"dataset": "churn.csv", "target": "left"},
                    "metric": "roc-auc",
                    "candidates": 40,
                },
            ]
        }
    )

    name: Name
    models: Annotated[
        dict[Name, Cost | None],
        Field(max_length=MOST_MODELS),
        BeforeValidator(_mapping, json_schema_input_type=dict[Name, Cost | None] | list[Name]),
    ] = {}
    algorithms: Annotated[list[Name], Field(max_length=MOST_MODELS)] = []
    candidates: Annotated[int, Field(ge=1, le=MOST_MODELS)] | None = None
    data: DataAsked | None = None
    dataset: Text = ""
    metric: Name | None = None
    weight: Weight = 1.0
    floor: Number = 0.0
    rows: Count | None = None
    columns: Count | None = None
    stop: StopRules = StopRules()
    tenant: Slug | None = None

    @model_validator(mode="after")
    def _choice(self) -> "StudyCreate":
        drawn = self.data is not None or self.algorithms
        if bool(self.models) == bool(drawn):
            raise ValueError(
                "say what to choose among: models one by one, or data or algorithms to draw from; "
                "one of the two"
            )
        if self.models and self.candidates is not None:
            raise ValueError("candidates are drawn from algorithms; leave it out, or leave models")
        if self.data is not None and (self.dataset or self.rows or self.columns):
            raise ValueError("data says it all: leave out dataset, rows and columns")
        return self


class Incumbent(ResponseBody):
    """A study's best score so far, the trial that brought it and what its model stands for.

    A score that another study's trial brought has the id of that trial, too.
    """

    model: str
    score: float
    trial: str = ""
    algorithm: str = ""
    configuration: dict[str, Setting] = {}
    metrics: dict[str, float] = {}


class TrialCounts(ResponseBody):
    """How many trials of a study are in each state."""

    running: int
    complete: int
    failed: int
    lost: int


class StudyView(ResponseBody):
    """A study, and how far it is. `training` is what it is over, left out in lists of studies."""

    id: str
    tenant: str
    name: str
    dataset: str
    metric: str
    state: StudyState
    reason: str
    weight: float
    floor: float
    rows: int | None
    columns: int | None
    stop: StopRules
    created: float
    models: int
    untried: int
    trials: TrialCounts
    device_seconds: float
    incumbent: Incumbent | None
    data: str = ""  # the dataset's name, where it has one of its own
    training: Training | None = None


class Improvement(ResponseBody):
    """A line of a study's learning record: a trial that brought a score, and the best by then.

    `seconds` are since the study began, `device_seconds` what its trials had used by then.
    """

    trial: str
    model: str
    time: float
    seconds: float
    device_seconds: float
    cost: float
    duration: float
    score: float
    best: float


class Next(ResponseBody):
    """What would be run for a study first, and why; without a `model`, why there is none.

    `expected_improvement` is the study's own, unweighted; `rate` is it per unit of `cost`, and
    `value` what the policy ranks by.
    """

    study: str
    model: str | None
    expected_improvement: float | None
    cost: float | None
    rate: float | None
    value: float | None
    reason: str


class Candidate(ResponseBody):
    """One model of a study: what is known and believed of it.

    `expected_improvement` is the study's own, unweighted; `rate` is it per unit of `cost`. Both
    are None once the model was tried, and while the study is not open. `trial` is the latest of
    the model, `duration` how long it really took, where that showed a score or failed for good.
    """

    model: str
    state: CandidateState
    score: float | None
    mean: float | None
    sigma: float | None
    cost: float | None
    expected_improvement: float | None
    rate: float | None
    duration: float | None = None
    trial: str = ""
    algorithm: str = ""
    configuration: dict[str, Setting] = {}
