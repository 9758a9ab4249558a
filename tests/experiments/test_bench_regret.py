"""The regret benchmark: ratios, intervals and output."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.commands import Bentham, write_table

from bentham.cli.report import print_regret
from bentham.errors import InvalidInput
from bentham.experiments import VARIANTS, bench_regret
from bentham.experiments.regret import Cell, interval, run_cell
from bentham.sim.experiment import Experiment, run_experiment
from bentham.tables import load_table


@pytest.mark.outside
def test_ratios_are_computed_per_seed(small: Path) -> None:
    result = bench_regret([str(small)], [2], repeat=2, variants=["paper", "default"], jobs=1)
    table = load_table(str(small))
    regrets: dict[str, list[float]] = {}
    for variant in ("paper", "default", "oracle"):
        regrets[variant] = [
            run_cell(table, Cell(str(small), 2, variant, seed)).regret for seed in (0, 1)
        ]
    (paper, default) = result["cells"]
    assert paper["to_paper"]["ratio"] == pytest.approx(1.0)
    logs = np.log(np.array(regrets["default"]) / np.array(regrets["paper"]))
    assert default["to_paper"]["ratio"] == pytest.approx(math.exp(logs.mean()))
    assert default["to_paper"]["low"] < default["to_paper"]["ratio"] < default["to_paper"]["high"]
    logs = np.log(np.array(regrets["default"]) / np.array(regrets["oracle"]))
    assert default["to_oracle"]["ratio"] == pytest.approx(math.exp(logs.mean()))
    assert result["geometric_mean"]["default"]["to_paper"]["cells"] == 1


def test_paper_and_default_agree_with_simulate(small: Path) -> None:
    table = load_table(str(small))
    for variant, prior in (("paper", "sample"), ("default", "learned")):
        ours = run_cell(table, Cell("t", 3, variant, 4))
        run = run_experiment(Experiment(table, prior=prior, devices=3), None, 4).run
        assert ours.regret == pytest.approx(run.regret.cumulative, rel=1e-9)
        assert ours.time_to == (run.regret.time_to(0.03), run.regret.time_to(0.01))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_runs(variant: str) -> None:
    whole = load_table("synthetic").only(range(10))
    assert whole.features is not None
    table = replace(
        whole,
        models=whole.models[:20],
        scores=whole.scores[:, :20],
        costs=whole.costs[:, :20],
        features=whole.features[:20],
    )
    measured = run_cell(table, Cell("synthetic", 4, variant, 0))
    assert 0.0 < measured.regret < 1e5


def test_intervals() -> None:
    assert interval([]) == {"ratio": None, "low": None, "high": None, "runs": 0}
    assert interval([math.log(2.0)]) == {
        "ratio": pytest.approx(2.0), "low": None, "high": None, "runs": 1,
    }  # fmt: skip
    found = interval([0.0, math.log(4.0)])
    assert found["ratio"] == pytest.approx(2.0)
    # Student's t with one degree of freedom: 12.706 standard errors.
    assert found["high"] == pytest.approx(2.0 * math.exp(12.706 * math.log(2.0)), rel=1e-3)


@pytest.mark.outside
def test_the_command(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    other = write_table(tmp_path / "other.csv", load_table("oboe:3").only(range(0, 360, 30)))
    arguments = [
        "bench",
        "regret",
        "--tables",
        f"{small},{other}",
        "--devices",
        "1,4",
        "--repeat",
        1,
    ]
    done = bentham(*arguments, "--json")
    assert (done.code, done.err) == (0, "")
    result = json.loads(done.out)
    assert result["tables"] == [str(small), str(other)]
    assert {cell["devices"] for cell in result["cells"]} == {1, 4}
    # Without features, the rival that needs them is skipped.
    assert {cell["variant"] for cell in result["cells"]} == {
        "paper", "default", "oracle", "oracle-warm",
    }  # fmt: skip
    done = bentham(*arguments, "--variants", "default,no-warp")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert "geometric mean" in done.out
    assert "No intervals:\nthey need --repeat 3 or more" in done.out


def test_intervals_of_ratios_are_printed_as_two_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """A factor up and down, which plus or minus a number would not show."""
    logs = [math.log(0.747 * factor) for factor in (0.9, 1.0, 1.1)]
    ratio = interval(logs)
    known = {"ratio": 1.0, "low": 1.0, "high": 1.0, "runs": 3}
    never = {"ratio": None, "low": None, "high": None, "runs": 0}
    cell = {
        "table": "t", "devices": 1, "variant": "default", "to_paper": ratio, "to_oracle": known,
        "time_to_0.03_to_paper": interval(logs[:2]), "time_to_0.01_to_paper": never,
    }  # fmt: skip
    result = {"repeat": 3, "cells": [cell], "geometric_mean": {}, "skipped": []}
    print_regret(result, 1.0)
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "default" in line]
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "default", "0.745 (0.58-0.96)", "1", "0.709", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--devices", "0"], "give numbers from 1"),
        (["--devices", "1;8"], "give numbers from 1"),
        (["--variants", "luck"], "unknown variant 'luck'"),
        (["--tables", "nowhere"], "there is no table 'nowhere'"),
        (["--tables", ","], "--tables is empty"),
        (["--tables", "oboe:3", "--variants", "told,alone"], "none of told, alone can be run"),
    ],
)
def test_invalid_options(bentham: Bentham, arguments: list[str], words: str) -> None:
    done = bentham("bench", "regret", *arguments)
    assert done.code == 2
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(InvalidInput, match="choose 'paper'"):
        bench_regret(variants=["luck"])


@pytest.mark.outside
def test_negative_scores_have_positive_regret(bentham: Bentham, tmp_path: Path) -> None:
    path = tmp_path / "negative.csv"
    rng = np.random.default_rng(0)
    rows = [f"s{i},{m},{-rng.uniform(3, 900)},1" for i in range(12) for m in "xyz"]
    path.write_text("\n".join(["study,model,score,cost", *rows]))
    done = bentham("bench", "regret", "--tables", path, "--repeat", 1, "--devices", 2, "--json")
    assert (done.code, done.err) == (0, "")
    result = json.loads(done.out)
    assert all(cell["regret"] > 0.0 for cell in result["cells"])
    assert result["skipped"] == [{"table": str(path), "variant": "alone", "needs": "features"}]


@pytest.mark.parametrize("studies", [1, 2])
def test_tables_that_are_too_small(bentham: Bentham, tmp_path: Path, studies: int) -> None:
    path = tmp_path / "small.csv"
    path.write_text("study,model,score,cost\n" + "".join(f"s{i},x,1,1\n" for i in range(studies)))
    done = bentham("bench", "regret", "--tables", path)
    assert done.code == 2
    assert f"{path} has {studies} studies" in done.err
    done = bentham("simulate", path, "--holdout", 0, "--paper")
    assert done.code == 2
    assert "the paper's prior needs at least 2 historical studies" in done.err
