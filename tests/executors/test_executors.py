"""The replay executor, and helpers that executors share."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support.clients import Time
from support.executor_contract import ExecutorContract, lease
from support.paths import TESTS

from bentham.errors import InvalidInput
from bentham.executors import Broken, Declined, Executor, ReplayExecutor, Scored
from bentham.executors.process import Command, ProcessExecutor
from bentham.executors.processes import descendants
from bentham.subprocesses import end, own_environment
from bentham.tables import Table
from bentham.wire import Lease

TABLE = Table(
    "small",
    ("wine", "iris"),
    ("svm", "forest"),
    np.array([[0.7, 0.8], [0.9, np.nan]]),
    np.array([[0.0001, 1e9], [2.0, np.nan]]),
)


class TestReplay(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return ReplayExecutor(TABLE, scale=1.0)

    @pytest.fixture
    def scoring(self) -> Lease:
        return lease("svm")

    @pytest.fixture
    def endless(self) -> Lease:
        return lease("forest")

    @pytest.fixture(params=["bayes", "forest"])
    def unknown(self, request: pytest.FixtureRequest) -> Lease:
        return lease(request.param, dataset="iris")

    def test_a_trial_takes_the_tables_cost(self) -> None:
        time = Time()
        running = ReplayExecutor(TABLE, 3.0, lambda: time.now).start(lease("svm", "iris"))
        time.now = 5.99
        assert running.poll() is None
        time.now = 6.0
        assert running.poll() == Scored(0.9)

    def test_without_a_scale_it_takes_no_time(self) -> None:
        assert ReplayExecutor(TABLE).start(lease("forest")).poll() == Scored(0.8)

    def test_a_study_without_a_dataset_is_found_by_its_name(self) -> None:
        executor = ReplayExecutor(TABLE)
        assert executor.start(lease("svm", "", study_name="iris")).poll() == Scored(0.9)
        assert isinstance(executor.start(lease("svm", "", study_name="none")).poll(), Declined)

    def test_unknown_studies_are_declined_and_unknown_models_fail(self) -> None:
        executor = ReplayExecutor(TABLE)
        ended = executor.start(lease("svm", "elsewhere")).poll()
        assert ended == Declined("the table small has no study 'elsewhere'", unable=True)
        ended = executor.start(lease("nothing", "iris")).poll()
        assert ended == Broken("the table small has no score of 'nothing' on 'iris'", final=True)

    @pytest.mark.parametrize("scale", [-1.0, float("nan"), float("inf")])
    def test_invalid_scales(self, scale: float) -> None:
        with pytest.raises(InvalidInput, match="scale"):
            ReplayExecutor(TABLE, scale)


@pytest.mark.outside
def test_prepared_wardens_run_the_trials(tmp_path: Path) -> None:
    program = (sys.executable, "-c", "print('{\"score\": 0.5}')")
    executor = ProcessExecutor(tmp_path, lambda *_: Command(program), lambda _: [])
    try:
        executor.prepare(2)
        executor.prepare(2)  # starts no more
        deadline = time.monotonic() + 30.0
        while len(started := wardens()) < 3:  # they share one that imports what trials need
            assert time.monotonic() < deadline
            time.sleep(0.01)
        trials = [executor.start(lease("svm", trial=f"t_{place}")) for place in range(2)]
        while any(trial.poll() is None for trial in trials):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert [trial.poll() for trial in trials] == [Scored(0.5)] * 2
        assert wardens() == started
        assert len(started) == 3
    finally:
        executor.close()
    assert wardens() == []


@pytest.mark.outside
def test_all_devices_share_one_preload(tmp_path: Path) -> None:
    program = (sys.executable, "-c", "print('{\"score\": 0.5}')")
    executor = ProcessExecutor(
        tmp_path / "worker", lambda *_: Command(program), lambda _: [],
        preload=("support.misbehaving:note_preload",),
        environment={"PYTHONPATH": str(TESTS), "PRELOAD_NOTES": str(tmp_path / "notes")},
    )  # fmt: skip
    try:
        executor.prepare(3)
        assert len((tmp_path / "notes").read_text().splitlines()) == 1
    finally:
        executor.close()


def wardens() -> list[int]:
    """Return the wardens of this process, and the process that forks them."""
    found = []
    for pid in descendants():
        with suppress(OSError):
            if b"bentham.executors.warden" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return sorted(found)


SIGNALLED = """
import signal, time
count = 0
def take(*_):
    global count
    count += 1
signal.signal(signal.SIGTERM, take)
print("ready", flush=True)
while count < 2:
    time.sleep(0.01)
print(count)
"""


@pytest.mark.outside
def test_children_get_two_signals_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENTHAM_DATABASE", "another server's")
    environment = own_environment({"BENTHAM_TOKEN": "its own"})
    assert {name for name in environment if name.startswith("BENTHAM_")} == {"BENTHAM_TOKEN"}
    assert "PATH" in environment
    child = subprocess.Popen([sys.executable, "-c", SIGNALLED], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout as output:
        assert output.readline() == b"ready\n"
        end(child)
        assert output.read() == b"2\n"
    assert child.returncode == 0
