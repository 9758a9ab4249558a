"""Studies: a dataset, a metric and the candidate models to choose among."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from bentham.wire.base import Answered, Asked, Cost, Count, Name, Number, Slug, Text, Weight

MOST_MODELS = 500
StudyState = Literal["open", "paused", "closed"]
CandidateState = Literal["untried", "running", "observed", "failed"]


class StopRules(Asked):
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


class StudyCreate(Asked):
    """A new study. An admin says for which tenant; a tenant's own token says it already.

    `models` lists the candidates, or maps each to its expected device time (null: to be learned).
    Studies of one tenant over the same `dataset` share its arms: one trial serves both. Scores
    are better when larger.
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
                }
            ]
        }
    )

    name: Name
    models: Annotated[
        dict[Name, Cost | None],
        Field(min_length=1, max_length=MOST_MODELS),
        BeforeValidator(_mapping, json_schema_input_type=dict[Name, Cost | None] | list[Name]),
    ]
    dataset: Text = ""
    metric: Name = "score"
    weight: Weight = 1.0
    floor: Number = 0.0
    rows: Count | None = None
    columns: Count | None = None
    stop: StopRules = StopRules()
    tenant: Slug | None = None


class Incumbent(Answered):
    """A study's best score so far."""

    model: str
    score: float


class TrialCounts(Answered):
    """How many trials of a study are in each state."""

    running: int
    complete: int
    failed: int
    lost: int


class Study(Answered):
    """A study, and how far it is."""

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


class Candidate(Answered):
    """One model of a study: what is known and believed of it.

    `expected_improvement` is the study's own, unweighted; `rate` is it per unit of `cost`. Both
    are None once the model was tried, and while the study is not open.
    """

    model: str
    state: CandidateState
    score: float | None
    mean: float | None
    sigma: float | None
    cost: float | None
    expected_improvement: float | None
    rate: float | None
