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
from support.commands import Bentham, one_line

from bentham.client import Client
from bentham.demo.record import study_row
from bentham.demo.tasks import demo_tasks
from bentham.training.dataset import DataFile
from bentham.training.inspect import inspect_file
from bentham.training.plan import plan
from bentham.training.training_plan import PlanRequest

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
        # Python's own tracker of shared memory ends by itself, moments after the server.
        wait_for(lambda: not alive(below), "something was left behind")
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
    assert "bentham: the worker exited unexpectedly (exit code -9)" in out
    assert "worker started" in out.splitlines()[-1]


def test_a_folder_in_use_is_refused(bentham: Bentham, tmp_path: Path) -> None:
    (tmp_path / "something").write_text("here")
    done = bentham("demo", "--folder", tmp_path)
    assert done.code == 2
    assert "is not empty" in done.err
    one_line(bentham, "demo", "--json", tmp_path, contains=["is a directory"])


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
        data = DataFile(
            "d", task.file, digest, "csv", found.delimiter, len(task.content), found.rows,
            tuple(found.columns),
        )  # fmt: skip
        asked = PlanRequest(task.target, task.metric)
        assert plan(data, asked).metric == task.metric  # or it is refused
        table = pd.read_csv(io.BytesIO(task.content))
        others = [name for name in table.columns if name != task.target]
        assert not any(table[name].equals(table[task.target]) for name in others)
    (holes,) = [task for task in tasks if task.study == "a fifth missing"]
    missing = pd.read_csv(io.BytesIO(holes.content)).isna()
    assert not missing["target"].any()
    assert 0.18 < missing.drop(columns="target").to_numpy().mean() < 0.22
