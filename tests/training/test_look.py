"""A look at a model: what it says is right, it changes no score, and it stays small and short."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.training_data import as_csv, job, mixed, training, write_csv

from bentham.training import look as looks
from bentham.training.catalog import load_catalog
from bentham.training.dataset import ColumnType
from bentham.training.trial import Result, train
from bentham.wire import ModelLook

ALWAYS = -1e50


def looked(
    folder: Path, text: str, name: str, plan: Any, above: float | None = ALWAYS
) -> tuple[Result, dict[str, Any]]:
    """Train with a look; return the result and the look, which the server would accept."""
    spec, path = load_catalog().algorithms[name], write_csv(folder, text)
    asked = job(path, plan, name, spec.describe(spec.defaults))
    result = train(asked.model_copy(update={"look_above": above}), lambda *_: None)
    found = {} if result.look is None else result.look()
    if found:
        ModelLook.model_validate(json.loads(json.dumps(found)))
    return result, found


@pytest.mark.parametrize(
    ("name", "task", "metric"),
    [("random-forest", "classification", "accuracy"), ("svm", "classification", "log-loss"),
     ("lightgbm", "regression", "mae")],
)  # fmt: skip
@pytest.mark.slow
def test_a_look_does_not_change_a_bit_of_the_score(
    name: str, task: Any, metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "LEAST_SECONDS", 60.0)  # enough on a busy machine
    text = mixed(task)
    plan = training(text, task, metric, kind="folds")
    plain, nothing = looked(tmp_path, text, name, plan, None)
    result, found = looked(tmp_path, text, name, plan)
    assert nothing == {}
    assert (result.score, result.scores) == (plain.score, plain.scores)
    assert result.metrics == plain.metrics
    assert found["importance"]["columns"][0][0] == "size"
    worse, nothing = looked(tmp_path, text, name, plan, result.score)
    assert worse.look is None


def test_two_classes_have_a_matrix_and_a_curve_over_all_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "LEAST_SECONDS", 60.0)
    chance = np.random.Generator(np.random.PCG64(3))
    size = chance.normal(size=120)
    rows = [
        [repr(value), "1", "yes" if value + 0.5 * noise > 0.8 else "no"]
        for value, noise in zip(size.tolist(), chance.normal(size=120), strict=True)
    ]
    text = as_csv(["size", "same", "left"], rows)
    columns: dict[str, ColumnType] = {"size": "number", "same": "number"}
    plan = training(text, "classification", "roc-auc", kind="folds", target="left", columns=columns)
    result, found = looked(tmp_path, text, "logistic-regression", plan)
    confusion, curve = found["confusion"], found["thresholds"]
    counts = np.array(confusion["counts"])
    assert confusion["classes"] == ["no", "yes"]
    assert counts.sum() == found["rows"] == curve["rows"] == 120
    assert np.trace(counts) / 120 == pytest.approx(result.metrics["accuracy"])
    assert curve["positive"] == "yes"
    points = np.array(curve["points"])
    assert 2 < len(points) <= looks.MOST_THRESHOLDS
    assert points[0, 2:].tolist() == [1.0, 1.0]  # at the lowest threshold, every row counts
    assert (np.diff(points[:, 0]) > 0).all()
    assert (np.diff(points[:, 2:], axis=0) <= 0).all()
    important = {name: mean for name, mean, *_ in found["importance"]["columns"]}
    assert important["size"] > 0.2
    assert important["same"] == 0.0


def test_many_classes_are_merged_and_hostile_names_are_cut() -> None:
    truth = np.repeat(np.arange(30), np.arange(30, 0, -1))
    names = ["\x00" + "x" * 500 + str(number) for number in range(30)]
    found = looks.confusion(truth, np.roll(truth, 1), names)
    assert len(found["classes"]) == 19
    assert found["merged"] == 11
    assert len(found["counts"]) == 20
    assert sum(map(sum, found["counts"])) == len(truth)
    name = "\u202e" + "ü" * 300
    wide = {
        "rows": 1,
        "confusion": found,
        "importance": {
            "rows": 9, "score": 0.5, "columns": [[looks._label(name), 0.1, 0.1, 0.1]] * 30,
            "omitted": 2, "unmeasured": [looks._label(name)] * 10, "unmeasured_count": 900,
        },
    }  # fmt: skip
    fitting = looks.fitting(wide)
    assert len(json.dumps(fitting)) <= looks.LARGEST
    assert len(fitting["importance"]["columns"]) + fitting["importance"]["omitted"] == 32
    ModelLook.model_validate(fitting)


def test_importance_stops_in_time_and_names_what_it_left_out() -> None:
    rows = pd.DataFrame({name: np.arange(40.0) for name in "abc"})
    left = iter([False, False, True])

    def judge(_: Any, rows: Any, truth: Any, __: Any) -> tuple[float, dict[str, float]]:
        return float(np.corrcoef(rows["a"], truth)[0, 1]), {}

    columns = {name: [name] for name in "abc"}
    found = looks.importance(
        judge, None, rows, np.arange(40.0), None, columns, 1, lambda: next(left)
    )
    assert found is not None
    assert [name for name, *_ in found["columns"]] == ["a", "b"]
    assert found["unmeasured"] == ["c"]
    assert found["columns"][1][1] == 0.0
    assert (rows["a"] == np.arange(40.0)).all()  # the rows themselves stay as they are


def test_residuals_are_prediction_minus_truth() -> None:
    truth = np.arange(1000.0)
    found = looks.residuals(truth, truth + 2.0, seed=1)
    assert {value for _, value in found["quantiles"]} == {2.0}
    assert len(found["sample"]) == looks.MOST_POINTS
    assert all(guess == true + 2.0 for true, guess in found["sample"])
