"""Process pools: every result is returned, and no process outlives the parent."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bentham.errors import BenthamError
from bentham.experiments.process_pool import run_in_pool

SCRIPT = """
import os, time
from bentham.experiments.process_pool import run_in_pool
def begin(): pass
def work(task):
    if task: time.sleep(600)
    return os.getpid()
if __name__ == "__main__":
    for task, pid in run_in_pool(work, [0, 1, 2], 2, begin):
        print(pid, flush=True)
"""
FACTOR = [0]


def begin(factor: int) -> None:
    FACTOR[0] = factor


def multiply(task: int) -> tuple[int, str | None]:
    return FACTOR[0] * task, os.environ.get("OPENBLAS_NUM_THREADS")


def die(task: int) -> int:  # noqa: ARG001
    os._exit(3)


@pytest.mark.outside
def test_every_task_returns_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    results = dict(run_in_pool(multiply, [1, 2, 3], 2, begin, 10))
    assert results == {1: (10, "1"), 2: (20, "1"), 3: (30, "1")}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert list(run_in_pool(multiply, [], 2, begin, 10)) == []


@pytest.mark.outside
def test_a_dead_process_raises_an_error() -> None:
    with pytest.raises(BenthamError, match="fewer processes at a time"):
        list(run_in_pool(die, [1], 1, begin, 1))


@pytest.mark.outside
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_parent(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline()  # the processes are working
        if number is signal.SIGINT:
            os.killpg(parent.pid, number)  # as a terminal does
        else:
            parent.send_signal(number)
        # The processes write to the same pipe, which closes when the last of them ends.
        parent.communicate(timeout=30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
