"""The catalogue: built-in algorithms, added ones, and the candidates of a study."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.training_data import job, mixed, training, write_csv

from bentham.errors import InvalidInput
from bentham.training.catalog import Catalog, load_catalog
from bentham.training.command_algorithms import command_line, placeholders
from bentham.training.training_plan import Task
from bentham.training.trial import train

TASKS: list[Task] = ["classification", "regression"]
COMMANDS = '''
[algorithms.our-net]
title = "Our network"
command = """python 'my train.py' --lr {lr} --layers={layers} {activation}
    --data {data} --target={target} --seed {seed} {{}}"""
tasks = ["classification"]

[algorithms.our-net.parameters]
lr = {low = 1e-4, high = 1e-1, log = true, default = 1e-3}
layers = {low = 1, high = 4, default = 2}
activation = {choices = ["relu", "tanh", true]}

[algorithms.tune]
command = "tune --level {level} --seed {seed}"
parameters.level = {low = 1, high = 3}
'''


def with_commands(folder: Path, text: str = COMMANDS) -> Catalog:
    file = folder / "algorithms.toml"
    file.write_text(text, encoding="utf-8")
    return load_catalog(file)


def package(folder: Path, name: str, source: str) -> None:
    """Create a package that looks installed to Python."""
    (folder / f"{name}.py").write_text(source)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[bentham.algorithms]\n{name} = {name}:ALGORITHMS\n")


@pytest.mark.outside
def test_the_catalogue_imports_no_training_libraries() -> None:
    code = (
        "import sys, bentham.training.script, bentham.training.trial, bentham.training.reports\n"
        "from bentham.training.catalog import load_catalog\n"
        "from bentham.training import command_algorithms, metrics\n"
        "load_catalog().candidates('regression', 100)\n"
        "heavy = {'sklearn', 'pandas', 'pyarrow', 'lightgbm', 'xgboost'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.outside
def test_warm_up_imports_training_libraries() -> None:
    code = (
        "import sys\n"
        "from bentham.training.trial import warm_up\n"
        "warm_up()\n"
        "wanted = {'sklearn.ensemble', 'sklearn.svm', 'pandas', 'lightgbm', 'threadpoolctl'}\n"
        "print(sorted(wanted - set(sys.modules)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@given(st.sampled_from(TASKS), st.integers(1, 60), st.integers(0, 60))
def test_fewer_candidates_are_the_first_of_more(task: Task, count: int, more: int) -> None:
    catalog = load_catalog()
    few, many = catalog.candidates(task, count), catalog.candidates(task, count + more)
    assert list(few.items()) == list(many.items())[:count]
    assert len(few) == count
    for name, description in few.items():
        assert task in description.tasks
        assert (
            catalog.algorithms[description.algorithm].model_name(description.configuration) == name
        )


def test_defaults_come_first_and_names_are_stable() -> None:
    catalog = load_catalog()
    found = catalog.candidates("classification", 40, ["random-forest", "ridge", "random-forest"])
    assert list(found)[:4] == ["random-forest", "ridge", "random-forest-db8458", "ridge-c38f11"]
    # These names must stay the same between versions, because results are stored under them.
    assert found["random-forest-db8458"].configuration == {
        "n_estimators": 78,
        "max_features": 0.0835,
        "min_samples_leaf": 1,
    }
    assert found["ridge"].family == "ridge"
    assert found["ridge"].features == {"alpha": pytest.approx(3 / 7)}


def test_an_algorithm_without_parameters_is_one_candidate() -> None:
    assert list(load_catalog().candidates("regression", 9, ["bayesian-ridge"])) == [
        "bayesian-ridge"
    ]


@pytest.mark.parametrize(
    ("task", "names", "reason"),
    [
        ("regression", ["rige"], "did you mean 'ridge'"),
        ("regression", ["\0" * 300], "see the list"),
        ("regression", ["logistic-regression"], "for classification, not for regression"),
        (None, ["ridge"], "trains on data"),
        (None, [], "works without data"),
    ],
)
def test_invalid_algorithms_are_refused(task: Task | None, names: list[str], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        load_catalog().candidates(task, 5, names)


def test_commands_of_the_operator(tmp_path: Path) -> None:
    catalog = with_commands(tmp_path)
    net, tune = catalog.algorithms["our-net"], catalog.algorithms["tune"]
    assert (net.needs_data, net.tasks, tune.needs_data, tune.tasks) == (
        True, ("classification",), False, (),
    )  # fmt: skip
    assert tune.defaults == {"level": 2}
    assert "our-net" in catalog.candidates("classification", 100)
    assert "our-net" not in catalog.candidates("regression", 100)
    assert len(catalog.candidates(None, 100)) == 3
    with pytest.raises(InvalidInput, match="takes no data"):
        catalog.candidates("regression", 3, ["tune"])
    plan = training("", "classification", "accuracy", target="; rm -rf $HOME {lr}")
    words = command_line(
        net, {"lr": 1e-3, "layers": 2, "activation": True}, placeholders(plan, "a b")
    )
    assert words == [
        "python", "my train.py", "--lr", "0.001", "--layers=2", "true", "--data", "a b",
        "--target=; rm -rf $HOME {lr}", "--seed", "7", "{}",
    ]  # fmt: skip
    assert command_line(tune, {"level": 3}, placeholders(None, "")) == [
        "tune", "--level", "3", "--seed", "0",
    ]  # fmt: skip


def test_a_column_name_cannot_be_a_command_option(tmp_path: Path) -> None:
    text = '[algorithms.x]\ncommand = "run {data} --target {target}"'
    spec = with_commands(tmp_path, text).algorithms["x"]
    plan = training("", "regression", "r2", target="--output=/etc/passwd")
    with pytest.raises(InvalidInput, match="rename the column"):
        command_line(spec, {}, placeholders(plan, "data.csv"))


X = '[algorithms.x]\ncommand = "run {a}"\nparameters.a = '


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[algorithms", "is not valid TOML"),
        ("algorithm = 1", "the key 'algorithm' is unknown"),
        ("algorithms = 1", "write a table"),
        ("[algorithms]\nx = 1", r"algorithms\.x: is 1; write a table"),
        ("[algorithms.x]", r"algorithms\.x\.command: is None"),
        ("[algorithms.x]\ncommand = 5", "write a text"),
        ('[algorithms.x]\ncommand = "run \'"', "close quotes"),
        ('[algorithms.x]\ncommand = "{data}"', "start it with the program"),
        ('[algorithms.x]\ncommand = "run {lr}"', r"\{lr\} is unknown"),
        ('[algorithms.x]\ncommand = "run {"', "literal braces"),
        ('[algorithms.x]\ncommand = "run {data.name}"', "not a plain name"),
        ('[algorithms.x]\ncommand = "run {data!r}"', "not a plain name"),
        ('[algorithms.x]\ncommand = "run {}"', "not a plain name"),
        ('[algorithms.x]\ncommand = "run {target}"', r"has \{target\} but no \{data\}"),
        ('[algorithms.x]\ncommand = "run"\ntasks = ["regression"]', r"has no \{data\}"),
        ('[algorithms.x]\ncommand = "run {data}"\ntasks = ["ranking"]', "list classification or"),
        ('[algorithms."X y"]\ncommand = "run"', "lower-case letters"),
        ('[algorithms.ridge]\ncommand = "run"', "is already an algorithm ridge"),
        ('[algorithms.x]\ncommand = "run"\nparameters.a = {low = 1, high = 2}', r"no \{a\}"),
        ('[algorithms.x]\ncommand = "run"\nparameters.seed = {low = 1, high = 2}', "by Bentham"),
        (X + "{low = 1}", "numbers"),
        (X + "{}", "low and high, or choices"),
        (X + "{low = 1, high = 2, choices = [1, 2]}", "either low and high"),
        (X + "{low = true, high = 2}", "numbers"),
        (X + "{low = 2, high = 1}", r"parameters\.a: the range is from 2 to 1"),
        (X + "{low = 0, high = 1, log = true}", "start above 0"),
        (X + "{low = 1, high = 2, log = 1}", "true or false"),
        (X + "{low = 1, high = 2, default = 3}", r"parameters\.a\.default: is 3"),
        (X + "{low = 1, high = 2, default = 1.5}", "whole"),
        (X + "{low = nan, high = 2}", "low must be below high"),
        (X + "{choices = [[1], 2]}", "list of texts, numbers"),
        (X + "{choices = [1]}", "at least two"),
        (X + "{choices = [1, 2], steps = 3}", "the key 'steps' is unknown"),
    ],
)
def test_invalid_files_are_refused_with_the_position(
    text: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        with_commands(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "algorithms.toml"))


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="check the path"):
        load_catalog(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not valid TOML"):
        load_catalog(tmp_path / "bytes.toml")


def test_packages_add_algorithms_and_broken_packages_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(
        tmp_path,
        "their_models",
        "from sklearn.linear_model import Ridge\n"
        "from bentham.training.spaces import AlgorithmSpec, Real\n"
        "class Pipeline(Ridge): pass\n"
        "class fit(Ridge): pass\n"
        "def spec(name, path):\n"
        '    return AlgorithmSpec(name=name, title=\'Their """ ridge\', scaling=True,\n'
        "        estimators={'regression': path}, parameters={'alpha': Real(0.1, 10, log=True)},\n"
        "        defaults={'alpha': 1})\n"
        "ALGORITHMS = [spec('theirs', 'their_models:Pipeline'),\n"
        "              spec('odd', 'their_models:fit')]\n",
    )
    package(tmp_path, "broken_models", "raise RuntimeError('no licence')\n")
    package(tmp_path, "wrong_models", "ALGORITHMS = ['ridge']\n")
    package(
        tmp_path,
        "double_models",
        "from bentham.training.spaces import AlgorithmSpec\n"
        "ALGORITHMS = AlgorithmSpec(name='svm', title='x', estimators={'regression': 'a:B'})\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    catalog = load_catalog()
    assert {"theirs", "odd", "ridge"} < catalog.algorithms.keys()
    assert len(catalog.problems) == 3
    broken, double, wrong = catalog.problems
    assert "package broken_models" in broken
    assert "RuntimeError: no licence" in broken
    assert "package double_models" in double
    assert "there is already an algorithm svm" in double
    assert "package wrong_models" in wrong
    assert "is a str" in wrong
    text = mixed("regression")
    plan, path = training(text, "regression", "r2"), write_csv(tmp_path, text)
    scores = [
        train(job(path, plan, name, spec.describe(spec.defaults)), lambda *_: None).score
        for name, spec in catalog.algorithms.items()
        if name in ("theirs", "odd", "ridge")
    ]
    assert len(set(scores)) == 1
