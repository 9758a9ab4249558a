"""Files of fitted models: same predictions elsewhere, and clear messages for wrong rows."""

import argparse
import json
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from support.training_data import job, mixed, training, write_csv

from bentham.errors import InvalidInput
from bentham.training import fitted, fitted_runtime
from bentham.training import script as scripts
from bentham.training.catalog import load_catalog
from bentham.training.dataset import ColumnType
from bentham.training.fitted import FitJob, fit_model
from bentham.training.training_plan import Task
from bentham.training.trial import executed

NEW = """id,size,weight,same,empty,colour,rare,extra
007,3,-3,7,,red,common,a
008,-3,?,7,,pink,odd,b
"""


def fit(folder: Path, name: str, task: Task, metric: str) -> tuple[Path, Path]:
    """Write a fitted model; return its file and that of the data."""
    text = mixed(task)
    spec, path = load_catalog().algorithms[name], write_csv(folder, text)
    plan = training(text, task, metric)
    file = folder / "worth.pyz"
    asked = job(path, plan, name, spec.describe(spec.defaults))
    versions = fit_model(FitJob(job=asked, out=str(file), study="worth", score=0.5)).versions
    assert versions[0].startswith("python==")
    return file, path


def run(file: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a fitted model where Bentham cannot be imported: isolated, and in another folder."""
    away = file.parent / "away"
    away.mkdir(exist_ok=True)
    moved = file.rename(away / file.name) if file.exists() else away / file.name
    hidden = (
        "import runpy, sys\n"
        "sys.modules['bentham'] = None\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", hidden, str(moved), *map(str, arguments)],
        cwd=away, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.outside
@pytest.mark.parametrize(
    ("name", "task", "metric"),
    [("xgboost", "classification", "roc-auc"), ("random-forest", "regression", "rmse")],
)
def test_it_predicts_the_same_elsewhere_to_the_last_digit(
    name: str, task: Task, metric: str, tmp_path: Path
) -> None:
    file, path = fit(tmp_path, name, task, metric)
    with zipfile.ZipFile(file) as archive:
        source = archive.read("fitted_script.py").decode()
    (tmp_path / "new.csv").write_text(NEW)
    with executed(source, "model") as script:
        model, classes = script["fit"](str(path))
        rows = script["read_rows"](str(path))
        here = script["predict"](model, classes, rows)
    ended = run(file, path, "--out", "found.csv")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "away" / "found.csv").read_text() == here.to_csv(index=False)
    assert len(here) == 200  # also rows without a target
    ended = run(file, tmp_path / "new.csv", "--id", "id")
    lines = ended.stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "007", "008"]
    assert "Ignored, since the model does not use them: 'extra'" in ended.stderr
    if task == "classification":
        assert lines[0] == (
            "id,prediction,probability of high,probability of low,probability of middle"
        )
    if task == "regression":
        return
    ended = run(file, "no.csv")
    assert ended.returncode == 1
    assert ended.stderr == "no.csv cannot be read (No such file or directory)\n"
    ended = run(file, "--about")
    assert json.loads(ended.stdout)["data"]["name"] == "mixed.csv"
    assert "scikit-learn==" in run(file, "--requirements").stdout


def test_wrong_rows_are_refused_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, path = fit(tmp_path, "decision-tree", "classification", "accuracy")
    new = str(tmp_path / "new.csv")
    wrong = {
        "size,weight\n1,2\n": "lacks the columns 'same', 'empty', 'colour', 'rare', which",
        NEW.replace("weight", "mass"): "new.csv lacks the column 'weight', which the model needs",
        NEW.replace(",", ";"): "its columns must be separated by ','",
        "": "cannot be read as a table (No columns to parse from file)",
        "\x00\udcff": "cannot be read as a table",
        NEW.replace("extra", "prediction"): "a column 'prediction' already",
    }
    with zipfile.ZipFile(file) as archive:
        source = archive.read("fitted_script.py").decode()
    with executed(source, "model") as script:
        model, classes = script["fit"](str(path))
        options = argparse.Namespace(out=None, id=[], keep=True)
        for text, words in wrong.items():
            Path(new).write_text(text, errors="surrogateescape")
            with pytest.raises(ValueError, match=re.escape(words)):
                script["predict_file"](model, classes, new, options)
        Path(new).write_text(NEW.splitlines()[0] + "\n")  # no rows
        options = argparse.Namespace(out=None, id=["id"], keep=False)
        script["predict_file"](model, classes, new, options)
        header = "id,prediction,probability of high,probability of low,probability of middle\n"
        assert capsys.readouterr().out == header
        options = argparse.Namespace(out=None, id=["customer"], keep=False)
        with pytest.raises(ValueError, match="lacks the column 'customer', which is to be kept"):
            script["predict_file"](model, classes, new, options)


@pytest.mark.outside
def test_values_that_cannot_be_read_are_reported_and_a_closed_pipe_is_no_error(
    tmp_path: Path,
) -> None:
    columns: dict[str, ColumnType] = {"size": "number", "day": "day-first", "vip": "yes-no"}
    lines = [f"{row},{row % 28 + 1}.3.2024,{'no' if row % 3 else 'yes'},{row}" for row in range(60)]
    text = "\n".join(["size,day,vip,worth", *lines])
    plan = training(text, "regression", "r2", columns=columns)
    spec = load_catalog().algorithms["decision-tree"]
    source = scripts.script(plan, "tree", spec, spec.defaults)
    (tmp_path / "data.csv").write_text(text)
    (tmp_path / "model.py").write_text(source)
    new = tmp_path / "new.csv"
    new.write_text("size,day,vip\n" + "many,gestern,perhaps\n1,2.3.2024,yes\n,,\n" * 3)

    def started() -> subprocess.Popen[str]:
        command = [sys.executable, "model.py", "data.csv", "--predict", new.name]
        return subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, stdout=subprocess.PIPE
        )

    with started() as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors.splitlines() == [
        "'size': 3 of 9 values are not numbers, such as 'many', and count as missing",
        "'day': 3 of 9 values are not dates, such as 'gestern', and count as missing",
        "'vip': 3 of 9 values are not yes or no, such as 'perhaps', and count as missing",
    ]
    with started() as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 0
    assert "Error" not in errors
    assert "cannot be written" not in errors
    new.write_text("size;day;vip\n1,5;2.3.2024;no\n2,5;3.3.2024;no\n")
    with started() as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.startswith("new.csv lacks the columns 'size', 'day', 'vip'")


def test_versions_that_matter_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"scikit-learn": "1.7.2", "numpy": "2.3.1", "xgboost": "3.1.0"}

    def version(name: str) -> str:
        if name not in here:
            raise metadata.PackageNotFoundError(name)
        return here[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"xgboost": ["xgboost"]})
    wrong, other = fitted_runtime.compared(
        {"scikit-learn": "1.6.0", "numpy": "2.1.0", "xgboost-cpu": "3.1.0", "pandas": "3.0.0"},
        "xgboost",
    )
    assert wrong == [
        "scikit-learn is 1.7.2 here, and was 1.6.0 when the model was trained",
        "pandas 3.0.0 is not installed",
    ]
    assert other == ["numpy is 2.3.1 here, and was 2.1.0 when the model was trained"]


def test_a_model_that_cannot_be_saved_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd:
        def __reduce__(self) -> Any:
            raise TypeError("it holds a lock")

        def predict(self, rows: Any) -> list[int]:
            return [0] * len(rows)

    class Within:
        def __init__(self, source: str, model: str):
            self._inner = executed(source, model)

        def __enter__(self) -> dict[str, Any]:
            namespace = self._inner.__enter__()
            namespace["fit"] = lambda _: (Odd(), ["a"])
            return namespace

        def __exit__(self, *error: Any) -> None:
            self._inner.__exit__(*error)

    monkeypatch.setattr(fitted, "executed", Within)
    with pytest.raises(InvalidInput, match=r"cannot be saved \(TypeError: it holds a lock\)"):
        fit(tmp_path, "ridge", "regression", "r2")
    assert not (tmp_path / "worth.pyz").exists()
