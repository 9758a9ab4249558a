"""Metrics to evaluate predictions. Whatever the metric, a larger score is better.

The metrics are computed in `script_runtime.py`, whose functions are copied into every script.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bentham.training.training_plan import Task
from bentham.wording import did_you_mean

# Scores are at least -1: any lower score only says that a model is useless, and one extreme value
# must not distort what is learned from all scores.
_UNCHANGED = "the metric itself"
_RELATIVE = "1 - loss / loss of predicting {}, both on the held-out rows; at least -1"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric; `score` describes how the score is computed from it.

    `aliases` are other names of the same metric.
    """

    name: str
    task: Task
    title: str
    score: str
    aliases: tuple[str, ...] = ()


def _metric(
    name: str, task: Task, title: str, score: str = _UNCHANGED, aliases: str = ""
) -> MetricSpec:
    return MetricSpec(name, task, title, score, tuple(aliases.split()))


METRICS: dict[str, MetricSpec] = {
    metric.name: metric
    for metric in (
        _metric(
            "accuracy",
            "classification",
            "fraction of rows classified correctly",
            aliases="acc",
        ),
        _metric(
            "balanced-accuracy",
            "classification",
            "recall, mean over the classes",
            aliases="balanced-acc recall-macro",
        ),
        _metric(
            "f1-macro",
            "classification",
            "F1, mean over the classes",
            aliases="macro-f1",
        ),
        _metric(
            "matthews",
            "classification",
            "Matthews correlation; 0 is random guessing",
            aliases="mcc matthews-corrcoef",
        ),
        _metric(
            "roc-auc",
            "classification",
            "area under the ROC curve; with more than two classes, the one-versus-rest mean",
            aliases="auc auroc roc-auc-ovr",
        ),
        _metric(
            "average-precision",
            "classification",
            "average precision of yes, else of the rarer class; with more than two classes, the "
            "mean over the classes",
            aliases="ap",
        ),
        _metric(
            "log-loss",
            "classification",
            "logarithmic loss of the predicted probabilities",
            _RELATIVE.format("the class frequencies of the training rows"),
            aliases="cross-entropy neg-log-loss",
        ),
        _metric(
            "r2",
            "regression",
            "fraction of the variance explained",
            "the metric itself; at least -1",
            aliases="r2-score r-squared",
        ),
        _metric(
            "rmse",
            "regression",
            "root mean squared error",
            _RELATIVE.format("the mean of the training rows"),
            aliases="root-mean-squared-error neg-root-mean-squared-error",
        ),
        _metric(
            "mae",
            "regression",
            "mean absolute error",
            _RELATIVE.format("the median of the training rows"),
            aliases="mean-absolute-error neg-mean-absolute-error",
        ),
        _metric(
            "median-absolute-error",
            "regression",
            "median absolute error",
            _RELATIVE.format("the median of the training rows"),
            aliases="medae neg-median-absolute-error",
        ),
    )
}


# Other metrics, with one that orders models in a similar way.
_NEAREST = {
    "f1": "f1-macro", "f1-score": "f1-macro", "f1-binary": "f1-macro", "f1-micro": "accuracy",
    "f1-weighted": "f1-macro", "precision": "average-precision", "recall": "balanced-accuracy",
    "pr-auc": "average-precision", "auprc": "average-precision", "roc-auc-ovo": "roc-auc",
    "gini": "roc-auc", "error": "accuracy", "error-rate": "accuracy", "brier": "log-loss",
    "brier-score": "log-loss", "kappa": "matthews", "cohen-kappa": "matthews", "mse": "rmse",
    "mean-squared-error": "rmse", "neg-mean-squared-error": "rmse", "explained-variance": "r2",
    "mape": "mae", "mean-absolute-percentage-error": "mae", "rmsle": "rmse", "msle": "rmse",
}  # fmt: skip


def _spelling(name: str) -> str:
    """Return what all spellings of a name have in common."""
    return "".join(each for each in name.lower() if each.isalnum())


_BY_SPELLING = {
    _spelling(name): metric
    for metric in METRICS.values()
    for name in (metric.name, *metric.aliases)
}
_NEAREST_BY_SPELLING = {_spelling(name): nearest for name, nearest in _NEAREST.items()}


def metric_named(name: str) -> MetricSpec | None:
    """Return the metric with this name or alias, in any spelling, such as ROC_AUC; None if none."""
    return _BY_SPELLING.get(_spelling(name))


def nearest_metric(name: str) -> str:
    """Return the end of a message about an unknown metric: the ones that may be meant."""
    nearest = _NEAREST_BY_SPELLING.get(_spelling(name))
    if nearest is not None:
        return f"; the nearest is {nearest}: {METRICS[nearest].title}"
    names = [each for metric in METRICS.values() for each in (metric.name, *metric.aliases)]
    return did_you_mean(name, names)


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
