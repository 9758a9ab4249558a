"""The demo: real runs with few studies, and its tasks."""

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
from support.commands import Bentham, assert_refused

from bentham.client import Client
from bentham.demo.record import study_row
from bentham.demo.tasks import demo_tasks
from bentham.training.dataset import DataFile
from bentham.training.inspect import inspect_file
from bentham.training.plan import plan
from bentham.training.training_plan import PlanRequest

pytestmark = pytest.mark.outside

PATIENCE = 100.0
QUICK = ("--studies", "2", "--candidates", "4")


# -- complete runs


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


def wait_for(condition: Callable[[], object], message: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, message
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
    found, pending = [], [pid]
    while pending:
        children = parents.get(pending.pop(), [])
        found += children
        pending += children
    return found


def alive(pids: list[int]) -> list[int]:
    """Return the processes that still run, excluding zombies."""
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


def test_output_agrees_with_the_api_and_runs_are_reproducible(
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
            views = {study.id: client.study(study.id) for study in client.studies()}
            trials = list(client.trials())
        assert [row["id"] for row in result["studies"]] == list(reversed(views))
        for row in result["studies"]:
            study = views[row["id"]]
            assert row == study_row(study)
            assert study.incumbent is not None
            (shown,) = [line for line in printed.splitlines() if f" {study.name} " in line]
            assert f"{study.incumbent.score:.4f}" in shown
            assert study.incumbent.model in shown
            assert study.incumbent.score == max(
                trial.score for trial in trials if trial.study == study.id and trial.score
            )
        assert len(trials) == len(result["scores"]) == 8
        children = descendants(process.pid)
        assert children
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        # Python's resource tracker ends by itself shortly after the server.
        wait_for(lambda: not alive(children), "a process is still running")
    second_output = tmp_path / "again.json"
    options = (*QUICK, "--seed", "3", "--exit-when-done", "--json", str(second_output))
    with demo(tmp_path / "second", *options) as process:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out
    second = json.loads(second_output.read_text())
    assert scores_of(second) == scores_of(result)
    assert second["fingerprint"] == result["fingerprint"]
    assert second["fingerprint"] in out


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux signals children when their parent dies"
)
def test_killing_the_demo_ends_all_its_processes(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", *QUICK) as process:
        log = tmp_path / "demo" / "worker.log"
        wait_for(lambda: log.exists() and "trial started" in log.read_text(), "no trial began")
        children = descendants(process.pid)
        assert len(children) >= 2
        process.kill()
        process.wait()
        wait_for(lambda: not alive(children), "a process is still running")


def test_a_dead_worker_is_reported_with_its_log(tmp_path: Path) -> None:
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
    assert_refused(bentham, "demo", "--json", tmp_path, contains=["is a directory"])


def test_tasks_are_valid_and_determined_by_the_seed(tmp_path: Path) -> None:
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
        request = PlanRequest(task.target, task.metric)
        assert plan(data, request).metric == task.metric  # otherwise the plan is refused
        table = pd.read_csv(io.BytesIO(task.content))
        others = [name for name in table.columns if name != task.target]
        assert not any(table[name].equals(table[task.target]) for name in others)
    (sparse,) = [task for task in tasks if task.study == "a fifth missing"]
    missing = pd.read_csv(io.BytesIO(sparse.content)).isna()
    assert not missing["target"].any()
    assert 0.18 < missing.drop(columns="target").to_numpy().mean() < 0.22
