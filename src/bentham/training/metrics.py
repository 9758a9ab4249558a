"""Metrics to evaluate predictions. Whatever the metric, a larger score is better.

The metrics are computed in `script_runtime.py`, whose functions are copied into every script.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bentham.training.training_plan import Task

# Scores are at least -1: any lower score only says that a model is useless, and one extreme value
# must not distort what is learned from all scores.
_UNCHANGED = "the metric itself"
_RELATIVE = "1 - loss / loss of predicting {}, both on the held-out rows; at least -1"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric; `score` describes how the score is computed from it."""

    name: str
    task: Task
    title: str
    score: str


def _metric(name: str, task: Task, title: str, score: str = _UNCHANGED) -> MetricSpec:
    return MetricSpec(name=name, task=task, title=title, score=score)


METRICS: dict[str, MetricSpec] = {
    metric.name: metric
    for metric in (
        _metric("accuracy", "classification", "fraction of rows classified correctly"),
        _metric("balanced-accuracy", "classification", "recall, mean over the classes"),
        _metric("f1-macro", "classification", "F1, mean over the classes"),
        _metric("matthews", "classification", "Matthews correlation; 0 is random guessing"),
        _metric(
            "roc-auc",
            "classification",
            "area under the ROC curve; with more than two classes, the one-versus-rest mean",
        ),
        _metric(
            "average-precision",
            "classification",
            "average precision of yes, else of the rarer class; with more than two classes, the "
            "mean over the classes",
        ),
        _metric(
            "log-loss",
            "classification",
            "logarithmic loss of the predicted probabilities",
            _RELATIVE.format("the class frequencies of the training rows"),
        ),
        _metric(
            "r2",
            "regression",
            "fraction of the variance explained",
            "the metric itself; at least -1",
        ),
        _metric(
            "rmse",
            "regression",
            "root mean squared error",
            _RELATIVE.format("the mean of the training rows"),
        ),
        _metric(
            "mae",
            "regression",
            "mean absolute error",
            _RELATIVE.format("the median of the training rows"),
        ),
        _metric(
            "median-absolute-error",
            "regression",
            "median absolute error",
            _RELATIVE.format("the median of the training rows"),
        ),
    )
}


def default_metric(task: Task, classes: int, balanced: bool) -> str:
    """Return the metric of a study that names none.

    If a class is rare, accuracy says little: predicting another class for all rows is mostly right.
    """
    if task == "regression":
        return "r2"
    if balanced:
        return "accuracy"
    return "average-precision" if classes == 2 else "balanced-accuracy"


def baseline(metric: str, shares: Sequence[float], positive: float | None) -> float:
    """Return the score of the best constant prediction: of one class, or of the same number.

    Args:
        metric: The metric's name.
        shares: Fractions of the rows of each class, the largest first; empty if unknown or in
            regression.
        positive: Of two classes, the share of the one that average precision is about.
    """
    if not shares:
        return 0.0
    equal = 1.0 / len(shares)
    scores = {
        "accuracy": shares[0],
        "balanced-accuracy": equal,
        "f1-macro": 2.0 * shares[0] / (1.0 + shares[0]) * equal,
        "roc-auc": 0.5,
        "average-precision": equal if positive is None else positive,
    }
    return scores.get(metric, 0.0)  # losses are relative to a constant, which scores 0
