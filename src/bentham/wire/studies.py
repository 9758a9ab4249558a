"""Studies: a dataset, a metric and the candidate models."""

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
    """When a study closes by itself: as soon as one rule is met. A rule that is None is off.

    `trials` is a number of trials, without lost ones; `cost` is device time in seconds; `deadline`
    is a time. With `expected_gain`, a study closes when no untried model is expected to improve the
    best score by that much. With `gain_share`, it closes when all untried models together are
    expected to add less than this share of what the study has gained over its floor; 0 runs every
    model. For a new study whose floor is known (given, or computed from its data) it defaults to
    0.001; for a reopened one there is no default.
    """

    trials: Count | None = None
    cost: Annotated[float, Field(gt=0.0, le=1e12)] | None = None
    deadline: Annotated[float, Field(ge=0.0, le=1e11)] | None = None
    expected_gain: Annotated[float, Field(gt=0.0, le=1e50)] | None = None
    gain_share: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None


class StudyChange(RequestBody):
    """Another name of a study."""

    name: Name


class StudyReopen(RequestBody):
    """How a closed study continues: until one of the rules in `stop` is met.

    By default a study that was closed by request keeps its rules, and one that a stop rule has
    closed continues until every model has been tried.
    """

    stop: StopRules | None = None


def _mapping(models: Any) -> Any:
    """Convert a list of models to a mapping without costs."""
    if isinstance(models, dict | list) and len(models) > MOST_MODELS:
        # Checked first: validating a million models would take too long.
        raise ValueError(f"there are {len(models):,} models; list at most {MOST_MODELS}")
    if isinstance(models, list) and all(isinstance(model, str) for model in models):
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice; list each once")
        return dict.fromkeys(models)
    return models


class StudyCreate(RequestBody):
    """A new study. `tenant` is required from an admin; a tenant's token implies it.

    The candidates are either listed in `models`, which may map each model to its expected device
    time in seconds (null: to be learned); or drawn from the operator's catalogue: `candidates` is
    their number, and `algorithms` are the algorithms to use, by default all that suit the `data`.
    Default configurations come first. Studies of one tenant over the same data, target, metric and
    split, or over the same `dataset` name, share their arms: one trial serves all of them. Larger
    scores are better.
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
    floor: Number | None = None  # by default the score of the best constant prediction, else 0
    rows: Count | None = None
    columns: Count | None = None
    stop: StopRules = StopRules()
    tenant: Slug | None = None

    @model_validator(mode="after")
    def _choice(self) -> "StudyCreate":
        drawn = self.data is not None or self.algorithms
        if bool(self.models) == bool(drawn):
            raise ValueError("give either models, or data or algorithms to draw models from")
        if self.models and self.candidates is not None:
            raise ValueError(
                "candidates is the number of models to draw; leave out candidates or models"
            )
        if self.data is not None and (self.dataset or self.rows or self.columns):
            raise ValueError("data already names the dataset; leave out dataset, rows and columns")
        return self


class Incumbent(ResponseBody):
    """A study's best score so far, its trial, and the algorithm and configuration of its model.

    If the trial of another study produced the score, `trial` is the id of that trial.
    """

    model: str
    score: float
    trial: str = ""
    algorithm: str = ""
    configuration: dict[str, Setting] = {}
    metrics: dict[str, float] = {}


class TrialCounts(ResponseBody):
    """The number of trials of a study in each state."""

    running: int
    complete: int
    failed: int
    lost: int


class Gained(ResponseBody):
    """What a study's best score has gained lately, counted from its floor before the first score.

    If the first score was below the floor, gains are counted from that score.
    """

    last_hour: float
    last_day: float


class StudyView(ResponseBody):
    """A study and its progress. `training` describes its data; it is None in lists of studies."""

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
    gained: Gained
    data: str = ""  # the name of the uploaded dataset, if it uses one
    training: Training | None = None

    @property
    def tried(self) -> int:
        """The number of its models whose trials have ended; those that run are not counted."""
        return self.models - self.untried - self.trials.running


class Improvement(ResponseBody):
    """A line of a study's learning record: a trial with a score, and the best score so far.

    `seconds` is the time since the study was created, `device_seconds` the device time that its
    own trials with a score had used by then.
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
    """The model that would run next for a study, and why; if `model` is None, why there is none.

    `value` is what the policy ranks by, None for a warm start: the EI rate (expected improvement
    per unit of `cost`, with weights), under the policy `joint` given the running trials.
    `expected_improvement` and `rate`, that per unit of `cost`, are of the study alone: without
    weights, and as if nothing else were running. `waits` says why it does not run now: a limit, no
    device that is alive, or none that is free; it is empty if nothing prevents it.
    """

    study: str
    model: str | None
    expected_improvement: float | None
    cost: float | None
    rate: float | None
    value: float | None
    reason: str
    waits: str = ""


class Candidate(ResponseBody):
    """A model of a study: its state, score and posterior.

    `expected_improvement` and `rate`, that per unit of `cost`, are of the study alone: without
    weights, and as if nothing else were running. Both are None once the model was tried, and while
    the study is not open. `trial` is the model's latest trial, and `duration` the time it took if
    the model is observed or failed.
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
