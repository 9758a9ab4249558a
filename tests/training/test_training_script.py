"""Scripts: stand-alone, clean, safe with any names, and with identical scores to the last bit."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.training_data import as_csv, job, mixed, training, write_csv

from bentham.errors import InvalidInput
from bentham.training.catalog import load_catalog
from bentham.training.dataset import ColumnType
from bentham.training.script import script
from bentham.training.spaces import AlgorithmSpec
from bentham.training.training_plan import Task, TrainingPlan
from bentham.training.trial import Job, train

HOSTILE = [
    'double "quote"',
    "single 'quote'",
    "both ' and \"",
    '"""',
    "'''",
    "back\\slash\\",
    "new\nline",
    "{braces} {0} %s",
    "größe ☃ \u202e",
    '"); __import__("os")._exit(3)  #',
    "# comment",
]
BLAS = ("OPENBLAS_", "OMP_", "MKL_")
RULES = "A,ARG,B,C4,D1,E,F,I,N,PERF,PIE,RET,SIM,UP,W"


def start(script_file: Path, *arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run a script without access to Bentham and with another hash seed.

    Settings of the BLAS are kept: other kernels round differently, so scores are identical to the
    last bit only with the same settings.
    """
    blas = {name: value for name, value in os.environ.items() if name.startswith(BLAS)}
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": seed, **blas}
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(script_file), *arguments],
        cwd=script_file.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def executed(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "model"}
    exec(compile(source, "model.py", "exec"), namespace)
    return namespace


def trained(folder: Path, name: str, task: Task, metric: str) -> tuple[Path, TrainingPlan, float]:
    text = mixed(task)
    spec, path = load_catalog().algorithms[name], write_csv(folder, text)
    plan = training(text, task, metric, kind="folds")
    result = train(job(path, plan, name, spec.describe(spec.defaults)), lambda *_: None)
    return path, plan, result.score


@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "task", "metric", "seed"),
    [
        ("random-forest", "classification", "roc-auc", "1"),
        ("svm", "classification", "log-loss", "2"),
        ("lightgbm", "regression", "rmse", "3"),
    ],
)
def test_another_process_computes_an_identical_score(
    name: str, task: Task, metric: str, seed: str, tmp_path: Path
) -> None:
    path, plan, score = trained(tmp_path, name, task, metric)
    spec = load_catalog().algorithms[name]
    file = tmp_path / "model.py"
    file.write_text(script(plan, name, spec, spec.defaults, score=score), encoding="utf-8")
    ended = start(file, str(path), seed=seed)
    assert ended.returncode == 0, ended.stderr
    assert f"score: {score!r}\nThis is the recorded score." in ended.stdout
    assert ended.stdout.count("fold ") == 3


def test_other_data_and_scores_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, plan, score = trained(tmp_path, "ridge", "regression", "r2")
    spec = load_catalog().algorithms["ridge"]
    model = executed(script(plan, "ridge", spec, spec.defaults, score=score + 1e-6))
    monkeypatch.setattr(sys, "argv", ["model.py", str(path)])
    assert model["main"]() == 1
    assert "The recorded score is" in capsys.readouterr().out
    other = tmp_path / "other.csv"
    other.write_text(path.read_text() + "1,2,7,,red,common,3\n")
    monkeypatch.setattr(sys, "argv", ["model.py", str(other)])
    assert model["main"]() == 1
    captured = capsys.readouterr()
    assert "its SHA-256 is different" in captured.err
    assert captured.out == ""


def test_it_predicts_the_rows_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, plan, _ = trained(tmp_path, "xgboost", "classification", "accuracy")
    spec = load_catalog().algorithms["xgboost"]
    model = executed(script(plan, "xgboost", spec, spec.defaults))
    new = tmp_path / "new.csv"
    new.write_text("size,weight,same,empty,colour,rare\n3,-3,7,,red,common\n-3,3,7,,pink,odd\n")
    monkeypatch.setattr(sys, "argv", ["model.py", str(path), "--predict", str(new)])
    assert model["main"]() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction,probability of high,probability of low,probability of middle"
    assert [line.partition(",")[0] for line in lines[1:]] == ["high", "low"]
    fitted, classes = model["fit"](str(path))
    rows = model["features"](model["read_table"](str(new), ","))
    assert [classes[number] for number in fitted.predict(rows)] == ["high", "low"]


@pytest.mark.parametrize("name", ["ridge", "decision-tree"])
def test_hostile_names_stay_text(name: str, tmp_path: Path) -> None:
    header = [*HOSTILE, "number", HOSTILE[0] + " target"]
    rows = [
        [*(HOSTILE[(row + index) % 4] for index in range(len(HOSTILE))), str(row), HOSTILE[row % 2]]
        for row in range(40)
    ]
    text = as_csv(header, rows)
    columns: dict[str, ColumnType] = {**dict.fromkeys(HOSTILE, "category"), "number": "number"}
    plan = training(text, "classification", "accuracy", target=header[-1], columns=columns)
    plan = plan.model_copy(update={"name": HOSTILE[9]})
    spec, path = load_catalog().algorithms[name], write_csv(tmp_path, text)
    result = train(job(path, plan, HOSTILE[3], spec.describe(spec.defaults)), lambda *_: None)
    assert result.score == 1.0  # the target is determined by the other columns
    source = script(plan, HOSTILE[3], spec, spec.defaults, score=result.score, study=HOSTILE[9])
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert constants["CATEGORIES"] == HOSTILE
    assert constants["TARGET"] == header[-1]
    assert constants["STUDY"] == constants["DATASET"] == HOSTILE[9]


@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "task", "metric"),
    [
        ("svm", "classification", "log-loss"),
        ("random-forest", "classification", "average-precision"),
        ("neural-network", "regression", "mae"),
        ("lightgbm", "regression", "r2"),
        ("bayesian-ridge", "regression", "rmse"),
    ],
)
def test_scripts_pass_our_linter(name: str, task: Task, metric: str, tmp_path: Path) -> None:
    spec = load_catalog().algorithms[name]
    many: dict[str, ColumnType] = {f"column number {number}": "number" for number in range(30)}
    for number, columns in enumerate([None, many]):
        plan = training("", task, metric, columns=columns, kind="folds" if number else "holdout")
        source = script(plan, name, spec, spec.defaults, score=0.5, study="A study")
        (tmp_path / f"model_{number}.py").write_text(source, encoding="utf-8")
    settings = ["--isolated", "--no-cache", "--line-length=100"]
    for check in (["check", "--select", RULES], ["format", "--check", "--diff"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *settings, str(tmp_path)],
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_job_survives_json() -> None:
    spec = load_catalog().algorithms["random-forest"]
    configuration = list(zip(spec.configurations(), range(4), strict=False))[3][0]
    plan = training("", "regression", "r2")
    request = job(Path("data.csv"), plan, "model", spec.describe(configuration))
    restored = Job.model_validate_json(request.model_dump_json())
    assert restored == request
    assert spec.model_name(restored.configuration) == spec.model_name(configuration)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"algorithm": "random-forst"}, "did you mean 'random-forest'"),
        ({"algorithm": "huber"}, "huber is not for classification"),
        ({"configuration": {}}, "same catalogue"),
        ({"training": training("", "classification", "fame")}, "no metric 'fame'"),
        ({"training": training("", "classification", "r2")}, "r2 is for regression"),
        ({"training": training("", "classification", "f1-macro", columns={})}, "no columns"),
    ],
)
def test_jobs_outside_the_catalogue_are_refused(change: dict[str, Any], reason: str) -> None:
    spec = load_catalog().algorithms["random-forest"]
    request = job(
        Path("none.csv"),
        training("", "classification", "accuracy"),
        "m",
        spec.describe(spec.defaults),
    )
    with pytest.raises(InvalidInput, match=reason):
        train(request.model_copy(update=change), lambda *_: None)


def test_a_command_has_no_script() -> None:
    spec = AlgorithmSpec(name="ours", title="Ours", command=("run", "{data}"))
    with pytest.raises(InvalidInput, match="there is no script"):
        script(training("", "regression", "r2"), "ours", spec, {})


@pytest.mark.parametrize(("positive", "names"), [("yes", ["no", "yes"]), (None, ["1", "False"])])
def test_merged_answers_are_named_yes_and_no_except_in_older_plans(
    positive: str | None, names: list[str], tmp_path: Path
) -> None:
    written = ["False", "1", "no", "J", "False", "1", "maybe", ""]
    text = as_csv(["size", "left"], [[str(row), written[row % 8]] for row in range(80)])
    plan = training(
        text, "classification", "accuracy", target="left", columns={"size": "number"}
    ).model_copy(update={"reads": "yes-no", "positive": positive, "classes": 2})
    spec = load_catalog().algorithms["random-forest"]
    model = executed(script(plan, "model", spec, spec.defaults))
    rows, answers, classes = model["load"](str(write_csv(tmp_path, text)))
    assert classes == names
    assert [classes[answer] for answer in answers[:6]] == [
        names[value] for value in ([0, 1, 0, 1, 0, 1] if positive else [1, 0, 1, 0, 1, 0])
    ]
    assert len(rows) == 60
