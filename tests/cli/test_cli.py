"""Output of the command line."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import HEADER, Bentham, assert_refused, write_table

from bentham import __version__, plots
from bentham.core import SharedPrior, sample_prior
from bentham.sim import POLICY_NAMES
from bentham.sim.experiment import Experiment, run_experiment
from bentham.tables import Table, load_table


def test_json_is_one_object_with_the_documented_fields(bentham: Bentham, small: Path) -> None:
    done = bentham("simulate", small, "--json", "--devices", 2, "--seed", 5)
    assert (done.code, done.err) == (0, "")
    run = json.loads(done.out)
    assert set(run) >= {
        "table", "policy", "prior", "devices", "seed", "warm_start", "studies", "models",
        "cumulative_regret", "end_time", "time_to", "trials", "curve",
    }  # fmt: skip
    assert run["table"] == str(small)
    assert (run["policy"], run["prior"], run["warm_start"]) == ("joint", "learned", "none")
    assert (run["devices"], run["seed"], run["studies"], run["models"]) == (2, 5, 4, 8)
    assert len(run["history"]) == 8
    assert list(run["time_to"]) == ["0.1", "0.03", "0.01"]
    assert len(run["trials"]) == 4 * 8
    assert set(run["trials"][0]) >= {"study", "model", "device", "start", "end", "score"}
    starts = [trial["start"] for trial in run["trials"]]
    assert starts == sorted(starts)
    assert run["curve"][0][0] == 0.0
    assert run["curve"][-1][1] == pytest.approx(0.0, abs=1e-12)
    assert run["end_time"] == max(trial["end"] for trial in run["trials"])
    # The curve is the mean over studies; its area times the number of studies is the regret.
    steps = [*run["curve"], [run["end_time"], 0.0]]
    area = sum(a[1] * (b[0] - a[0]) for a, b in pairwise(steps))
    assert run["cumulative_regret"] == pytest.approx(area * run["studies"])
    for level, time in run["time_to"].items():
        reached = [t for t, mean in run["curve"] if mean <= float(level)]
        assert time == reached[0]


@pytest.mark.slow
def test_several_runs_are_a_list(bentham: Bentham, small: Path) -> None:
    arguments = [item for name in POLICY_NAMES for item in ("--policy", name)]
    done = bentham("simulate", small, "--json", "--repeat", 2, *arguments)
    runs = json.loads(done.out)
    assert [(run["policy"], run["seed"]) for run in runs] == [
        (name, seed) for name in POLICY_NAMES for seed in (0, 1)
    ]
    histories = {seed: {tuple(r["history"]) for r in runs if r["seed"] == seed} for seed in (0, 1)}
    assert all(len(drawn) == 1 for drawn in histories.values())  # the same for every policy
    assert histories[0] != histories[1]


def test_the_same_command_prints_the_same_bytes(bentham: Bentham, small: Path) -> None:
    command = ["simulate", small, "--json", "--policy", "random", "--lose", 0.2, "--fail", 0.1]
    assert bentham(*command).out == bentham(*command).out


def test_an_explicit_history(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    table = load_table("oboe:8")
    history = write_table(tmp_path / "history.csv", table.only(range(5, 300, 30)))
    done = bentham("simulate", small, "--history", history, "--json")
    run = json.loads(done.out)
    assert run["studies"] == 12
    assert len(run["history"]) == 10


def test_the_table_in_text(bentham: Bentham, small: Path) -> None:
    policies = ["--policy", "mdmt", "--policy", "round-robin"]
    done = bentham("simulate", small, *policies, "--prior", "sample", "--repeat", 2)
    assert done.code == 0
    assert "small.csv: 4 studies x 8 models, 4 devices, prior sample from 8 studies" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    rows = [line for line in done.out.splitlines() if "│" in line]
    assert [row.split("│")[1].strip() for row in rows] == ["mdmt", "round-robin"]
    assert "±" in rows[0]


def test_zero_regret_prints_no_nan(bentham: Bentham, tmp_path: Path) -> None:
    path = tmp_path / "zero.csv"
    path.write_text(HEADER + "".join(f"s{i},{m},0,1\n" for i in range(4) for m in "xy"))
    done = bentham("simulate", path, "--holdout", 2, "--policy", "mdmt", "--policy", "random")
    assert (done.code, done.err) == (0, "")
    assert "nan" not in done.out


@pytest.mark.outside
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plots(bentham: Bentham, small: Path, tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"regret.{suffix}"
    done = bentham("simulate", small, "--plot", plot, "--repeat", 2, "--policy", "random")
    assert (done.code, done.err) == (0, "")
    assert plot.stat().st_size > 2000
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert plot.read_bytes().startswith(start)


def test_every_policy_has_a_line_of_its_own_in_a_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run_experiment(Experiment(load_table("oboe:3").only(range(12))), "mdmt", 0)
    outcomes = [replace(outcome, policy=f"policy {number}") for number in range(8)]
    lines: list[Any] = []
    real = plots.draw_mean

    def draw(*arguments: Any) -> None:
        lines.append(arguments[3:6])
        real(*arguments)

    monkeypatch.setattr(plots, "draw_mean", draw)
    plots.draw_regret(outcomes, tmp_path / "regret.png")
    assert [line[0] for line in lines] == [outcome.policy for outcome in outcomes]
    assert len({line[1:3] for line in lines}) == 8  # colour and dashes


@pytest.mark.outside
@pytest.mark.parametrize("options", [["--until", 0], ["--floor", 5], ["--until", 0.001]])
def test_plots_of_almost_empty_runs(
    bentham: Bentham, small: Path, tmp_path: Path, options: list[object]
) -> None:
    plot = tmp_path / "regret.png"
    assert bentham("simulate", small, "--plot", plot, *options).code == 0
    assert plot.exists()


@pytest.mark.outside
def test_unusual_names_are_shown_unchanged(bentham: Bentham, tmp_path: Path) -> None:
    table = load_table("oboe:8").only(range(10))
    names = (
        "[bold]x[/]",
        "[/nope]",
        "$\\frac$",
        "naïve, 'quoted'",
        "日本",
        "a  b",
        "~",
        "#",
        "%",
        "=",
    )
    named = Table("odd", names, table.models, table.scores, table.costs)
    path = write_table(tmp_path / "q[red]$\\frac$.csv", named)
    done = bentham("simulate", path, "--plot", tmp_path / "odd.png")
    assert (done.code, done.err) == (0, "")
    assert "q[red]$\\frac$.csv" in done.out.replace("\n", "")
    run = json.loads(bentham("simulate", path, "--json").out)
    assert set(run["history"]) | {trial["study"] for trial in run["trials"]} == set(names)


def test_replay_of_recorded_events(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    assert bentham("simulate", small, "--events", events, "--policy", "gp-ucb").code == 0
    done = bentham("replay", events)
    assert done.code == 0
    assert done.out == "recomputed 32 decisions from 72 events: identical\n"
    # A decision that differs from the recorded one.
    text = events.read_text()
    other = '"reason": "policy", "value": '
    assert other in text
    events.write_text(text.replace(other, other + "1", 1))
    done = bentham("replay", events)
    assert done.code == 1
    assert done.out.startswith("1 of 32 decisions differ:\n  trial ")
    # Cut at the end of a line.
    events.write_text("\n".join(text.splitlines()[:-3]))
    done = bentham("replay", events)
    assert done.code == 2
    assert "69 events where 72 were written" in done.err


def test_a_prior_from_a_file(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    table = load_table("oboe:8")
    prior = sample_prior(table.models, table.scores[1:300:30], jitter=0.25)
    path = tmp_path / "prior.json"
    path.write_text(json.dumps(prior.describe()))
    run = json.loads(bentham("simulate", small, "--prior", path, "--json").out)
    assert (run["studies"], run["jitter"], run["history"]) == (12, 0.25, [])
    for text in ("null", "[1]", '{"layout": []}', '{"layout": "shared"}', "{", "[" * 50_000):
        path.write_text(text)
        assert_refused(bentham, "simulate", small, "--prior", path, contains=["prior.json"])
    path.write_text(json.dumps(SharedPrior(["x"], [0.0], [[1.0]]).describe()))
    assert_refused(bentham, "simulate", small, "--prior", path, contains=["does not cover"])


def test_a_kernel_prior(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    run = json.loads(
        bentham("simulate", "synthetic", "--prior", "kernel", "--until", 20, "--json").out
    )
    assert run["prior"] == "kernel"
    features = tmp_path / "features.csv"
    models = load_table("oboe:8").models
    features.write_text("model,a,b\n" + "".join(f"{m},{i},{i % 3}\n" for i, m in enumerate(models)))
    kernel = ("simulate", small, "--prior", "kernel:rbf")
    done = bentham(*kernel, "--features", features, "--length-scale", 2, "--json")
    assert json.loads(done.out)["prior"] == "kernel:rbf"
    assert_refused(bentham, *kernel, contains=["needs features", "pass --features FILE"])
    features.write_text("model,a\n" + "".join(f"{m},1\n" for m in models))
    assert_refused(
        bentham, *kernel, "--features", features, "--jitter", 0, contains=["pass a jitter above"]
    )


def test_scores_below_the_floor_cause_a_warning(bentham: Bentham, tmp_path: Path) -> None:
    path = tmp_path / "low.csv"
    path.write_text(HEADER + "".join(f"s{i},{m},-{i}.5,1\n" for i in range(4) for m in "xy"))
    done = bentham("simulate", path, "--holdout", 2, "--json")
    assert done.code == 0
    assert done.err == (
        "bentham: warning: scores go down to -3.5, below the baseline score 0; "
        "consider --floor -3.5\n"
    )
    json.loads(done.out)
    assert bentham("simulate", path, "--holdout", 2, "--floor=-3.5").err == ""


def test_studies_may_list_only_some_models(bentham: Bentham, tmp_path: Path) -> None:
    table = load_table("oboe:8").only(range(12))
    table.scores[[3, 5], [1, 2]] = table.costs[[3, 5], [1, 2]] = np.nan
    path = write_table(tmp_path / "some.csv", table)
    run = json.loads(bentham("simulate", path, "--holdout", 11, "--json").out)
    assert len(run["history"]) == 11  # the learned prior accepts incomplete studies
    command = ["simulate", path, "--holdout", 9, "--prior", "sample", "--json"]
    run = json.loads(bentham(*command).out)
    assert (run["policy"], run["warm_start"]) == ("mdmt", "fastest:2")
    assert len(run["trials"]) == 3 * 8 - 2
    assert not {table.studies[3], table.studies[5]} & set(run["history"])


@pytest.mark.outside
def test_bench_decisions(bentham: Bentham) -> None:
    # In a separate process, because the command pins its process to one core.
    command = "import bentham.cli as c; c.main()"
    arguments = ["bench", "decisions", "--studies", "10", "--models", "10", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["studies"], result["models"], result["observations"]) == (10, 10, 100)
    assert 0.0 < result["p50_us"] <= result["p99_us"] <= result["max_us"]
    assert result["peak_memory_mib"] > 1.0
    assert bentham("bench", "decisions", "--studies", "x").code == 2
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments, "--learned"],
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    assert (result["prior"], result["observations"]) == ("learned", 100)


def test_version_and_help(bentham: Bentham) -> None:
    assert bentham("--version").out == f"bentham {__version__}\n"
    for command in (
        ["simulate"],
        ["replay"],
        ["bench"],
        ["bench", "decisions"],
        ["bench", "regret"],
        ["study", "create"],
        ["serve"],
        [],
    ):
        done = bentham(*command, "--help")
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
        assert "<bool>" not in done.out  # a flag has no value
        assert "…" not in done.out  # nothing is cut off
    # Line breaks of the source are not kept.
    assert "several instances share one PostgreSQL database" in bentham("serve", "--help").out


@pytest.mark.outside
def test_output_to_an_ascii_terminal(small: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import bentham.cli as c; c.main()", "simulate", str(small),
         "--repeat", "2"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"joint" in done.stdout


def test_comparison_with_the_paper(bentham: Bentham, small: Path) -> None:
    done = bentham("simulate", small, "--paper", "--json")
    ours, theirs = json.loads(done.out)
    assert (ours["policy"], theirs["policy"]) == ("joint", "paper")
    assert (theirs["prior"], theirs["warm_start"]) == ("sample", "fastest:2")
    alone = json.loads(
        bentham("simulate", small, "--policy", "mdmt", "--prior", "sample", "--json").out
    )
    assert alone["trials"] == theirs["trials"]
    assert ours["history"] == theirs["history"]


@pytest.mark.slow
def test_studies_may_end_early(bentham: Bentham, small: Path) -> None:
    everything, early, paper = (
        json.loads(bentham("simulate", small, "--json", *options).out)
        for options in ([], ["--gain-share", 0.05], ["--policy", "mdmt", "--prior", "sample"])
    )
    assert (everything["gain_share"], everything["happiness"]) == (0.0, 1.0)
    for run in (everything, early):
        used = sum(trial["end"] - trial["start"] for trial in run["trials"])
        assert run["device_time"] == pytest.approx(used)
    assert early["device_time"] < everything["device_time"]
    start, end = early["curve"][0][1], early["curve"][-1][1]
    assert early["happiness"] == pytest.approx(1.0 - end / start)
    done = bentham("simulate", small, "--gain-share", 0.05, "--paper", "--json")
    assert json.loads(done.out)[1]["trials"] == paper["trials"]  # the paper runs every model
    shown = bentham("simulate", small, "--gain-share", 0.05).out
    assert f"{early['happiness']:.2%}" in shown
