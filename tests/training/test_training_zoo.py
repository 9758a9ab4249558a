"""Every algorithm trains on realistic data, and its script gives the same score."""

import itertools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from support.training_data import as_csv, job, mixed, training, write_csv

from bentham.training.boosting import BOOSTING
from bentham.training.catalog import load_catalog
from bentham.training.dataset import ColumnType
from bentham.training.metrics import METRICS
from bentham.training.parameters import Setting
from bentham.training.script import script
from bentham.training.training_plan import Task
from bentham.training.trial import Result, train
from bentham.training.zoo import ZOO

TASKS: tuple[Task, ...] = ("classification", "regression")
SUPPORTED = [(spec.name, task) for spec in (*ZOO, *BOOSTING) for task in spec.tasks]


def quiet(share: float, scores: list[float]) -> None:
    """Check progress reports and discard them."""
    assert 0.0 < share <= 1.0
    assert scores


def run(
    folder: Path,
    name: str,
    task: Task,
    metric: str,
    text: str = "",
    configuration: dict[str, Setting] | None = None,
    **more: Any,
) -> Result:
    text = text or mixed(task)
    spec = load_catalog().algorithms[name]
    plan = training(text, task, metric, **more)
    chosen = spec.describe(dict(spec.defaults) if configuration is None else configuration)
    return train(job(write_csv(folder, text), plan, name, chosen), quiet)


def test_number_of_algorithms() -> None:
    assert sum("classification" in spec.tasks for spec in ZOO) >= 14
    assert sum("regression" in spec.tasks for spec in ZOO) >= 12


@pytest.mark.filterwarnings("ignore")  # scripts do not suppress warnings
@pytest.mark.parametrize(("name", "task"), SUPPORTED)
def test_training_agrees_with_the_script(name: str, task: Task, tmp_path: Path) -> None:
    text, metric = mixed(task), "accuracy" if task == "classification" else "mae"
    plan, path = training(text, task, metric), write_csv(tmp_path, text)
    spec = load_catalog().algorithms[name]
    for number, configuration in enumerate(itertools.islice(spec.configurations(), 2)):
        reports: list[tuple[float, list[float]]] = []
        model = job(path, plan, spec.model_name(configuration), spec.describe(configuration))
        result = train(model, lambda *report: reports.append(report))  # noqa: B023
        assert reports == [(1.0, result.scores)]
        assert -1.0 <= result.score <= 1.0
        assert METRICS.keys() > result.metrics.keys() > {metric}
        if number == 0:
            # The largest class is 36 % of the rows; a constant has a score of 0.
            assert result.score > (0.6 if task == "classification" else 0.3)
            exported = script(plan, name, spec, configuration, score=result.score, study="a study")
            namespace: dict[str, Any] = {"__name__": "exported"}
            exec(compile(exported, "exported", "exec"), namespace)
            evaluated = namespace["evaluate"](str(path), quiet)
            assert evaluated == (result.score, result.metrics, result.scores)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ["svm", "lightgbm"])
def test_every_metric_works_with_and_without_probabilities(
    name: str, metric: str, tmp_path: Path
) -> None:
    result = run(tmp_path, name, METRICS[metric].task, metric, kind="folds")
    assert len(result.scores) == 3
    assert result.score == np.mean(result.scores)
    assert 0.3 < result.score < 1.0
    assert metric in result.metrics


@pytest.mark.parametrize("metric", ["accuracy", "roc-auc", "average-precision", "log-loss"])
@pytest.mark.parametrize("name", ["ridge", "xgboost"])
def test_two_classes(name: str, metric: str, tmp_path: Path) -> None:
    text = mixed("classification").replace(",middle\n", ",low\n")
    assert run(tmp_path, name, "classification", metric, text).score > 0.3


def test_folds_are_reported_as_they_end(tmp_path: Path) -> None:
    text = mixed("regression")
    spec, reports = load_catalog().algorithms["ridge"], []
    plan = training(text, "regression", "r2", kind="folds")
    model = job(write_csv(tmp_path, text), plan, "ridge", spec.describe(spec.defaults))
    result = train(model, lambda share, scores: reports.append((share, scores)))
    assert reports == [(number / 3, result.scores[:number]) for number in (1, 2, 3)]


@pytest.mark.parametrize("name", ["ridge", "gradient-boosting", "lightgbm", "xgboost", "svm"])
def test_a_column_without_values_in_one_fold(name: str, tmp_path: Path) -> None:
    rows = [
        [str(row), "5" if row == 0 else "", "a" if row == 1 else "", str(2.0 * row)]
        for row in range(200)
    ]
    text = as_csv(["x", "number", "category", "y"], rows)
    columns = {"x": "number", "number": "number", "category": "category"}
    result = run(
        tmp_path,
        name,
        "regression",
        "r2",
        text,
        kind="folds",
        target="y",
        columns=cast(dict[str, ColumnType], columns),
    )
    assert result.score > 0.5


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["ridge", "nearest-neighbours"])
def test_only_categories_and_many_columns(name: str, task: Task, tmp_path: Path) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    signs = rng.integers(0, 5, (60, 400))
    rows = [[f"v{sign}" for sign in row] + [str(row[0] % 2)] for row in signs]
    header = [f"column {number}" for number in range(400)]
    columns: dict[str, ColumnType] = dict.fromkeys(header, "category")
    metric = "accuracy" if task == "classification" else "r2"
    text = as_csv([*header, "y"], rows)
    result = run(tmp_path, name, task, metric, text, target="y", columns=columns)
    assert -1.0 <= result.score <= 1.0


def test_parquet_gives_what_csv_gives(tmp_path: Path) -> None:
    text = mixed("classification")
    path = write_csv(tmp_path, text)
    table = pd.read_csv(path, na_values=["?"], dtype={"empty": "float64"})
    table["colour"] = table["colour"].astype("category")
    table.to_parquet(tmp_path / "data.parquet")
    spec = load_catalog().algorithms["logistic-regression"]
    plan = training(text, "classification", "roc-auc")
    described = spec.describe(spec.defaults)
    scores = [
        train(job(file, each, "model", described), quiet).score
        for file, each in (
            (path, plan),
            (tmp_path / "data.parquet", plan.model_copy(update={"format": "parquet"})),
        )
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)


def test_nan_predictions_are_refused(tmp_path: Path) -> None:
    text = as_csv(["x", "y"], [[str(row), f"{row}e306"] for row in range(1, 41)])
    columns: dict[str, ColumnType] = {"x": "number"}
    with pytest.raises(ValueError):
        run(tmp_path, "ridge", "regression", "rmse", text, target="y", columns=columns)
