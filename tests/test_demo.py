"""The demo: run for real with few studies, and its parts."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import Bentham, one_line
from rich.console import Console

from bentham import wire
from bentham.client import Client
from bentham.core.problem import ModelDescription
from bentham.core.regret import Regret
from bentham.demo.comparison import (
    Comparison,
    compare,
    in_words,
    mean_regret,
    measured_table,
    orders,
    real_regret,
)
from bentham.demo.look import Look
from bentham.demo.record import Measured, MeasuredArm, fingerprint, study_row
from bentham.demo.report import comparison_grid, results
from bentham.demo.screen import WIDTH, Screen, curve, marks
from bentham.demo.tasks import demo_tasks
from bentham.training.inspect import inspect_file
from bentham.training.plan import plan

PATIENCE = 100.0
QUICK = ("--studies", "2", "--candidates", "4")


# -- the whole thing


@contextmanager
def demo(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bentham", "demo", "--folder", str(folder), *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def wait_for(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def alive(pids: list[int]) -> list[int]:
    """Those that are not gone, nor dead and waiting to be buried by whoever adopted them."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def scores_of(result: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    return {(row["tenant"], row["study"], row["model"]): row["score"] for row in result["scores"]}


def test_what_is_printed_is_what_the_api_says_and_a_second_run_scores_the_same(
    tmp_path: Path,
) -> None:
    output, folder = tmp_path / "first.json", tmp_path / "first"
    with demo(folder, *QUICK, "--seed", "3", "--json", str(output)) as process:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C ends the demo" in line:
                break
        result = json.loads(output.read_text())
        with Client(result["server"], (folder / "data/admin.token").read_text().strip()) as client:
            said = {study.id: client.study(study.id) for study in client.studies()}
            trials = list(client.trials())
        assert [row["id"] for row in result["studies"]] == list(reversed(said))
        for row in result["studies"]:
            study = said[row["id"]]
            assert row == study_row(study)
            assert study.incumbent is not None
            (shown,) = [line for line in printed.splitlines() if f" {study.name} " in line]
            assert f"{study.incumbent.score:.4f}" in shown
            assert study.incumbent.model in shown
            assert study.incumbent.score == max(
                trial.score for trial in trials if trial.study == study.id and trial.score
            )
        assert len(trials) == len(result["scores"]) == 8
        below = descendants(process.pid)
        assert below
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert alive(below) == []
    again = tmp_path / "again.json"
    options = (*QUICK, "--seed", "3", "--exit-when-done", "--json", str(again))
    with demo(tmp_path / "second", *options) as process:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out
    second = json.loads(again.read_text())
    assert scores_of(second) == scores_of(result)
    assert second["fingerprint"] == result["fingerprint"]
    assert second["fingerprint"] in out


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of the end")
def test_who_kills_the_demo_kills_all_of_it(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", *QUICK) as process:
        log = tmp_path / "demo" / "worker.log"
        wait_for(lambda: log.exists() and "trial started" in log.read_text(), "no trial began")
        below = descendants(process.pid)
        assert len(below) >= 2
        process.kill()
        process.wait()
        wait_for(lambda: not alive(below), "something was left behind")


def test_a_worker_that_dies_is_named_with_what_it_said(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", *QUICK) as process:
        log = tmp_path / "demo" / "worker.log"
        wait_for(lambda: log.exists() and "worker started" in log.read_text(), "no worker")
        (worker,) = [
            pid
            for pid in descendants(process.pid)
            if b"\0worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        os.kill(worker, signal.SIGKILL)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
    assert "bentham: the worker ended by itself (exit code -9)" in out
    assert "worker started" in out.splitlines()[-1]


def test_a_folder_in_use_is_refused(bentham: Bentham, tmp_path: Path) -> None:
    (tmp_path / "something").write_text("here")
    done = bentham("demo", "--folder", tmp_path)
    assert done.code == 2
    assert "is not empty" in done.err
    one_line(bentham, "demo", "--json", tmp_path, contains=["is a folder"])


# -- its parts


def test_the_tasks_are_many_honest_and_the_same_for_a_seed(tmp_path: Path) -> None:
    tasks = demo_tasks(5)
    assert len(tasks) >= 12
    assert len({task.tenant for task in tasks}) >= 4
    assert len({(task.tenant, task.study) for task in tasks}) == len(tasks)
    assert tasks == demo_tasks(5)
    assert [task.study for task in tasks if task not in demo_tasks(6)] == ["a fifth missing"]
    contents = {(task.tenant, task.file): task.content for task in tasks}
    assert all(contents[task.tenant, task.file] == task.content for task in tasks)
    for task in tasks:
        path = tmp_path / "data.csv"
        path.write_bytes(task.content)
        found = inspect_file(path, "csv")
        assert found.refusal == ""
        digest = hashlib.sha256(task.content).hexdigest()
        dataset = wire.Dataset(
            id="d", tenant=task.tenant, name=task.file, hash=digest, format="csv", created=0.0,
            delimiter=found.delimiter, bytes=len(task.content), rows=found.rows,
            width=len(found.columns), columns=found.columns, notes=[],
        )  # fmt: skip
        asked = wire.DataAsked(dataset="d", target=task.target)
        assert plan(dataset, asked, task.metric).metric == task.metric  # or it is refused
        table = pd.read_csv(io.BytesIO(task.content))
        others = [name for name in table.columns if name != task.target]
        assert not any(table[name].equals(table[task.target]) for name in others)
    (holes,) = [task for task in tasks if task.study == "a fifth missing"]
    missing = pd.read_csv(io.BytesIO(holes.content)).isna()
    assert not missing["target"].any()
    assert 0.18 < missing.drop(columns="target").to_numpy().mean() < 0.22


def study(name: str, place: int, models: int = 2, score: float = 0.9) -> wire.Study:
    counts = wire.TrialCounts(running=0, complete=models, failed=0, lost=0)
    best = wire.Incumbent(model="forest", score=score, metrics={"rmse": 12.345678})
    return wire.Study(
        id=name, tenant="tenant", name=name, dataset="", metric="rmse", state="open", reason="",
        weight=1.0, floor=0.0, rows=100, columns=5, stop=wire.StopRules(), created=100.0 + place,
        models=models, untried=0, trials=counts, device_seconds=3.0, incumbent=best,
    )  # fmt: skip


def measured() -> Measured:
    """One device; two studies that each have a quick bad model and a slow good one."""
    arms = (
        MeasuredArm("a", "bad", 0.4, 100.0, 101.0),
        MeasuredArm("b", "bad", 0.6, 101.0, 102.0),
        MeasuredArm("a", "good", 0.8, 102.0, 106.0),
        MeasuredArm("b", "good", 0.8, 106.0, 110.0),
    )
    kin = {"bad": ModelDescription("x"), "good": ModelDescription("y", {"depth": 0.5})}
    return Measured((study("a", 0), study("b", 0)), arms, kin)


def test_the_regret_of_the_run_is_that_of_its_records() -> None:
    regret = real_regret(measured())
    steps = [(0.0, 0.8), (1.0, 0.6), (2.0, 0.3), (6.0, 0.1), (10.0, 0.0)]
    assert [time for time, _ in regret.curve] == [time for time, _ in steps]
    assert [mean for _, mean in regret.curve] == pytest.approx([mean for _, mean in steps])
    # a: 0.8 for 1 s, 0.4 for 5 s; b: 0.8 for 2 s, 0.2 for 8 s
    assert regret.cumulative == pytest.approx(0.8 + 2.0 + 1.6 + 1.6)


def test_replays_have_the_scores_and_times_that_were_measured() -> None:
    table = measured_table(measured())
    assert table.scores.tolist() == [[0.4, 0.8], [0.6, 0.8]]
    assert table.costs.tolist() == [[1.0, 4.0], [1.0, 4.0]]
    assert table.sizes == ((100, 5), (100, 5))
    comparison = compare(measured(), devices=1, replays=2)
    # Whatever the order, all is trained in 10 s by one device, and all is found in the end.
    for run in (comparison.real, comparison.joint, comparison.round_robin):
        assert run.end_time == pytest.approx(10.0)
        assert run.curve[-1][1] == pytest.approx(0.0)
    assert comparison.times(0.5)[0] == 2.0  # 0.3 is below half of 0.8
    assert comparison.times(1.0)[0] == 10.0


def test_the_mean_of_runs_is_taken_at_every_time() -> None:
    one = Regret(2.0, 4.0, ((0.0, 1.0), (2.0, 0.0)))
    other = Regret(4.0, 8.0, ((0.0, 1.0), (1.0, 0.5), (7.0, 0.0)))
    mean = mean_regret([one, other])
    assert mean == Regret(3.0, 8.0, ((0.0, 1.0), (1.0, 0.75), (2.0, 0.25), (7.0, 0.0)))
    assert orders(4, 3)[0] == (0, 1, 2, 3)
    assert [sorted(order) for order in orders(4, 3)] == [[0, 1, 2, 3]] * 3
    assert orders(4, 3) == orders(4, 3)


def test_the_words_name_who_was_later() -> None:
    slow, quick = real_regret(measured()), real_regret(hurried(measured()))
    text = in_words(Comparison(slow, quick, slow))
    assert text == (
        "Round robin takes 2.0 times as long to 90% of the happiness, 2.0 times to 98%, 2.0 times "
        "to 99% and 2.0 times to 100%; it has 2.0 times the regret in all."
    )
    text = in_words(Comparison(slow, slow, quick))
    assert text.startswith("Round robin takes 0.5 times as long")
    assert "regret in all, and Bentham is later at 90%, 98%, 99%, 100%." in text


def hurried(given: Measured) -> Measured:
    """The same in half the time."""
    arms = tuple(
        MeasuredArm(
            arm.study, arm.model, arm.score, 50.0 + arm.started / 2.0, 50.0 + arm.ended / 2.0
        )
        for arm in given.arms
    )
    return Measured(given.studies, arms, given.descriptions)


def test_a_fingerprint_tells_scores_apart_and_nothing_else() -> None:
    given = measured()
    mixed = Measured(given.studies, given.arms[::-1], given.descriptions)
    assert fingerprint(given) == fingerprint(hurried(given)) == fingerprint(mixed)
    first = given.arms[0]
    other = MeasuredArm(first.study, first.model, first.score + 1e-16, first.started, first.ended)
    assert other.score != first.score
    assert fingerprint(Measured(given.studies, (other, *given.arms[1:]), {})) != fingerprint(given)


def trial(number: int, study: str, score: float | None) -> wire.Trial:
    return wire.Trial(
        id=f"t{number}", tenant="tenant", study=study, dataset="", model="a-model-with-a-long-name",
        device=f"device-{number % 2}", kind="cpu", state="running" if score is None else "complete",
        attempt=1, cost=2.0, started=float(number), ended=None if score is None else number + 1.0,
        score=score, reason="",
    )  # fmt: skip


def overview() -> wire.Overview:
    return wire.Overview(
        time=190.0, regret_estimate=0.25, tenants=[],
        queue=wire.Queue(open_studies=1, untried_arms=1),
        throughput=wire.Throughput(last_ten_minutes=1, last_hour=1),
        devices=wire.DeviceCounts(registered=2, busy=2), decisions=3, leases_lost=0,
    )  # fmt: skip


def test_the_view_fits_a_small_terminal() -> None:
    studies = [study(f"study {place}", place, models=20) for place in range(14)]
    trials = [trial(place, "study 3", place / 30.0) for place in range(20)]
    trials += [trial(30, "study 5", None), trial(31, "study 6", None)]
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False)
    console.print(Screen("http://127.0.0.1:12345").picture(Look(studies, trials, overview())))
    lines = console.export_text().splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= WIDTH
    assert "14 studies of 1 tenants" in lines[0]
    assert lines[0].endswith("1:30")
    assert any("study 5: a-model" in line for line in lines)
    assert any("280 of 280 models" in line for line in lines)


def test_marks_show_each_score_and_which_were_the_best_yet() -> None:
    text = marks([trial(0, "s", 0.5), trial(1, "s", 0.4), trial(2, "s", 0.9)], study("s", 0, 5))
    assert len(text.plain) == 5
    assert text.plain[2:] == "█··"
    assert text.plain[0] > text.plain[1]
    assert [str(span.style) for span in text.spans[:3]] == ["bold green", "cyan", "bold green"]
    assert curve([4.0, 1.0, 0.0]) == "█▅▁"
    assert curve([]) == ""


def test_the_tables_show_what_they_are_given() -> None:
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False)
    console.print(results([study_row(study("a", 0)), study_row(study("b", 1))]))
    console.print(comparison_grid(Comparison(*[real_regret(measured())] * 3)))
    text = console.export_text()
    assert "rmse 12.35" in text
    assert text.count("0.9000") == 2
    assert "10.0 s" in text
