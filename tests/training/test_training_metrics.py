"""Scores: larger is better, 0 for a constant prediction, never below -1."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from bentham.training import script_runtime
from bentham.training.metrics import METRICS, baseline, default_metric
from bentham.training.script_runtime import rank_metric

NUMBERS = np.array([1.0, 2.0, 4.0, 9.0])
CLASSES = np.array([0, 0, 1, 2, 2, 2])
ROWS = pd.DataFrame(index=range(4))


class Says:
    """A model with fixed predictions."""

    def __init__(self, predictions: Any, probabilities: Any = None, decisions: Any = None):
        self.predictions = np.asarray(predictions)
        self.classes_ = np.arange(3 if probabilities is None else np.shape(probabilities)[1])
        if probabilities is not None:
            self.predict_proba = lambda _: np.asarray(probabilities)
        if decisions is not None:
            self.decision_function = lambda _: np.asarray(decisions)
            self.classes_ = np.arange(max(2, np.ndim(decisions) and np.size(decisions[0])))

    def predict(self, _: Any) -> Any:
        return self.predictions


def test_the_defaults_are_metrics_of_their_task() -> None:
    for task in ("classification", "regression"):
        for balanced in (True, False):
            assert METRICS[default_metric(task, 2, balanced)].task == task
    assert default_metric("classification", 2, True) == "accuracy"
    assert default_metric("classification", 2, False) == "average-precision"
    assert default_metric("classification", 3, False) == "balanced-accuracy"
    assert all(name == metric.name for name, metric in METRICS.items())


@pytest.mark.parametrize("metric", [name for name, each in METRICS.items() if "log" not in name])
def test_the_baseline_is_the_score_of_a_constant(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_runtime, "METRIC", metric)
    if METRICS[metric].task == "regression":
        assert baseline(metric, [], None) == 0.0  # scores are relative to a constant
        return
    truth = np.array([0] * 8 + [1] * 2)
    rows = pd.DataFrame(index=range(10))
    constant = Says(np.zeros(10), probabilities=np.tile([1.0, 0.0], (10, 1)))
    constant.classes_ = np.arange(2)
    if metric in ("roc-auc", "average-precision"):
        found = script_runtime.rank_metric(constant, rows, truth)
    else:
        found = script_runtime.label_metrics(constant, rows, truth)[metric]
    assert baseline(metric, [0.8, 0.2], 0.2) == pytest.approx(found)


@pytest.mark.parametrize("metric", ["rmse", "mae", "median-absolute-error", "r2"])
def test_numbers(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_runtime, "METRIC", metric)

    def score(predictions: Any) -> float:
        return script_runtime.judge_numbers(Says(predictions), ROWS, NUMBERS, NUMBERS)[0]

    constant = np.mean(NUMBERS) if metric in ("rmse", "r2") else np.median(NUMBERS)
    assert score(NUMBERS) == 1.0
    assert score(np.full(4, constant)) == pytest.approx(0.0)
    assert 0.5 < score(NUMBERS + 0.1) < 1.0
    assert score(NUMBERS * 1e6) == -1.0
    assert set(script_runtime.judge_numbers(Says(NUMBERS), ROWS, NUMBERS, NUMBERS)[1]) == {
        name for name, each in METRICS.items() if each.task == "regression"
    }


def test_a_target_without_spread() -> None:
    assert script_runtime.compared(0.0, 0.0) == 0.0
    assert script_runtime.compared(0.1, 0.0) == -1.0


def test_log_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_runtime, "METRIC", "log-loss")
    shares = np.tile([2 / 6, 1 / 6, 3 / 6], (6, 1))

    def score(probabilities: Any) -> float:
        model = Says(CLASSES, probabilities)
        return script_runtime.judge_probabilities(model, ROWS, CLASSES, CLASSES)[0]

    assert score(shares) == pytest.approx(0.0)
    assert score(shares.astype(np.float32)) == pytest.approx(0.0, abs=1e-6)
    assert score(np.eye(3)[CLASSES]) == pytest.approx(1.0)
    assert score(np.eye(3)[(CLASSES + 1) % 3]) == -1.0
    with pytest.raises(ValueError, match="not in the training rows"):
        script_runtime.judge_probabilities(Says(CLASSES, shares), ROWS, CLASSES, np.array([0, 1]))


def test_rank_metrics_agree_with_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    values = rng.dirichlet(np.ones(3), 6)
    two = (CLASSES > 0).astype(int)
    monkeypatch.setattr(script_runtime, "METRIC", "roc-auc")
    expected = roc_auc_score(CLASSES, values, multi_class="ovr")
    assert rank_metric(Says(CLASSES, values), ROWS, CLASSES) == pytest.approx(expected)
    assert rank_metric(Says(CLASSES, None, values), ROWS, CLASSES) == pytest.approx(expected)
    expected = roc_auc_score(two, values[:, 0])
    assert rank_metric(Says(two, None, values[:, 0]), ROWS, two) == pytest.approx(expected)
    monkeypatch.setattr(script_runtime, "METRIC", "average-precision")
    expected = average_precision_score(two, values[:, 0])
    assert rank_metric(Says(two, None, values[:, 0]), ROWS, two) == pytest.approx(expected)


def test_classes_that_were_not_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_runtime, "METRIC", "roc-auc")
    values = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]])
    assert rank_metric(Says([0, 1], values), ROWS, np.array([0, 1])) == 1.0
    with pytest.raises(ValueError, match="only one class was held out"):
        rank_metric(Says([0, 0], values), ROWS, np.array([0, 0]))
    metrics = script_runtime.label_metrics(Says([0, 2, 1]), ROWS, np.array([0, 1, 1]))
    assert metrics["balanced-accuracy"] == pytest.approx(0.75)
    assert metrics["accuracy"] == pytest.approx(2 / 3)
