"""How predictions may be judged. Whatever the metric, scores are better when larger.

What is computed stands in `script_runtime.py`, whose functions are part of every script.
"""

from dataclasses import dataclass

from bentham.training.training_plan import Task

# Below -1 a score says no more than that a model is useless; one wild value must not bend what is
# learned from all.
_AS_IT_IS = "as it is"
_OF_CONSTANT = "1 - loss / loss of {}, both on the rows held out; at least -1"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """How predictions are judged: `score` tells how the score is made of the metric."""

    name: str
    task: Task
    title: str
    score: str


def _metric(name: str, task: Task, title: str, score: str = _AS_IT_IS) -> MetricSpec:
    return MetricSpec(name=name, task=task, title=title, score=score)


METRICS: dict[str, MetricSpec] = {
    metric.name: metric
    for metric in (
        _metric("accuracy", "classification", "share of rows told right"),
        _metric("balanced-accuracy", "classification", "share told right, mean over the classes"),
        _metric("f1-macro", "classification", "F1, mean over the classes"),
        _metric("matthews", "classification", "Matthews correlation; 0 is guessing"),
        _metric(
            "roc-auc",
            "classification",
            "area under the ROC curve; of each class against the rest if there are several, mean",
        ),
        _metric(
            "average-precision",
            "classification",
            "average precision of the class that sorts last; mean over the classes if there are "
            "more than two",
        ),
        _metric(
            "log-loss",
            "classification",
            "logarithmic loss of the probabilities",
            _OF_CONSTANT.format("the classes' shares in training"),
        ),
        _metric("r2", "regression", "share of the variance explained", "as it is; at least -1"),
        _metric(
            "rmse",
            "regression",
            "root of the mean squared error",
            _OF_CONSTANT.format("the mean of training"),
        ),
        _metric(
            "mae",
            "regression",
            "mean absolute error",
            _OF_CONSTANT.format("the median of training"),
        ),
        _metric(
            "median-absolute-error",
            "regression",
            "median absolute error",
            _OF_CONSTANT.format("the median of training"),
        ),
    )
}


def default_metric(task: Task) -> str:
    """What a study is judged by that does not say."""
    return "accuracy" if task == "classification" else "r2"
