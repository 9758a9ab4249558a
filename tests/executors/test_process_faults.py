"""Faults of the machine return a trial unexecuted; kills are never lost."""

import errno
import fcntl
import os
import shutil
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.process_trials import CONTENT, Bench, bench, training, wait_for

from bentham.executors import Broken, Declined, Outcome, Scored, TrialLimits
from bentham.executors import warden as wardens
from bentham.executors.channel import Channel
from bentham.executors.containment import Containment
from bentham.executors.data import DataCache
from bentham.executors.outcomes import cause, outcome_of
from bentham.executors.process import ProcessTrial
from bentham.wire import Training

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux"),
]


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def workbench(tmp_path: Path, warnings: list[str]) -> Iterator[Bench]:
    with bench(tmp_path / "worker", warn=warnings.append) as workbench:
        yield workbench


# -- faults of the machine ----------------------------------------------------------------------


def assert_declined(outcome: Outcome, reason: str, folder: Path) -> None:
    assert isinstance(outcome, Declined), outcome
    assert not outcome.unable
    assert reason in outcome.reason
    assert str(folder) not in outcome.reason


def test_a_removed_folder_is_created_again(workbench: Bench, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "worker")
    assert isinstance(workbench.run("read", training=training())[0], Scored)
    assert (tmp_path / "worker" / "run").stat().st_mode & 0o777 == 0o700


def test_without_a_folder_trials_are_declined(
    workbench: Bench, tmp_path: Path, warnings: list[str]
) -> None:
    shutil.rmtree(tmp_path / "worker")
    (tmp_path / "worker").touch()
    assert_declined(workbench.run("score")[0], "could not be run: ", tmp_path)
    assert str(tmp_path) in warnings[0]  # the message for the operator names the folder
    (tmp_path / "worker").unlink()
    assert isinstance(workbench.run("score")[0], Scored)


def test_a_full_disk_does_not_fail_the_model(
    workbench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "x"))

    monkeypatch.setattr(workbench.executor.data, "_fetch", full)
    outcome, _ = workbench.run("read", training=training())
    assert_declined(outcome, "its data could not be fetched: OSError: No space left", tmp_path)


@pytest.mark.parametrize(
    ("program", "reason"),
    [("no-python", "FileNotFoundError"), ("false", "monitors trials ended (exit status 1)")],
)
def test_without_a_warden_trials_are_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    path = shutil.which(program) or str(tmp_path / program)
    monkeypatch.setattr("bentham.executors.fork_server.sys.executable", path)
    with bench(tmp_path / "worker") as workbench:
        for _ in range(2):  # the second trial tries again
            assert_declined(workbench.run("score")[0], reason, tmp_path)


def test_a_warden_that_died_idle_costs_no_attempt(workbench: Bench, tmp_path: Path) -> None:
    assert isinstance(workbench.run("score")[0], Scored)
    client = workbench.executor._clients[0]
    warden = client._warden
    assert warden is not None
    planned = workbench.executor._plan

    def plan(
        *arguments: Any,
    ) -> Any:  # it dies after the check that it is alive, before it receives the order
        warden.kill()
        warden.wait()
        return planned(*arguments)

    workbench.executor._plan = plan
    assert_declined(workbench.run("score")[0], "killed by SIGKILL", tmp_path)
    workbench.executor._plan = planned
    assert isinstance(workbench.run("score")[0], Scored)


def test_a_trial_that_cannot_be_set_up_is_declined(workbench: Bench, tmp_path: Path) -> None:
    planned = workbench.executor._plan

    def plan(lease: Any, data: str) -> Any:  # after the folder was created, before it is entered
        Path(data).parent.rmdir()
        return planned(lease, data)

    workbench.executor._plan = plan
    assert_declined(workbench.run("score")[0], "could not be set up: FileNotFoundError", tmp_path)


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_a_warden_that_cannot_fork_declines_and_closes_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    def order() -> dict[str, Any]:
        log = str(tmp_path / "log")
        return {"work": str(tmp_path), "log": log, "limits": asdict(TrialLimits()),
                "command": ["true"], "environment": {}}  # fmt: skip

    monkeypatch.setattr(f"bentham.executors.monitor.os.{call}", refuse)
    opened = len(os.listdir("/proc/self/fd"))
    report = wardens._run(order(), Containment("group"), Channel(-1, -1))  # type: ignore[arg-type]
    assert_declined(outcome_of(report), "could not be started: BlockingIOError", tmp_path)
    assert len(os.listdir("/proc/self/fd")) == opened


def test_causes_contain_no_paths() -> None:
    assert (
        cause(FileNotFoundError(2, "No such file", "/home/x")) == "FileNotFoundError: No such file"
    )
    assert cause(ValueError("odd")) == "ValueError: odd"
    assert cause(OSError("no device")) == "OSError: no device"
    assert cause(MemoryError()) == "MemoryError"


# -- kills --------------------------------------------------------------------------------------


def outcome_without_polling(running: ProcessTrial, seconds: float = 3.0) -> Outcome:
    """Wait for the outcome of a trial without polling it."""
    wait_for(lambda: running._outcome is not None, seconds)
    outcome = running._outcome
    assert outcome is not None
    return outcome


@pytest.fixture
def ready(workbench: Bench) -> Bench:
    assert isinstance(workbench.run("score")[0], Scored)
    return workbench


def test_a_kill_right_after_the_order(ready: Bench) -> None:
    warden = ready.executor._clients[0]._warden
    assert warden is not None
    assert warden.stdin is not None
    pipe = warden.stdin.fileno()
    stopped = ready.processes()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    wait_for(
        lambda: all(_is_stopped(pid) for pid in stopped)
    )  # otherwise it may still read the order
    running = ready.start("hang")
    wait_for(lambda: _unread(pipe) > 0)
    before = _unread(pipe)
    running.kill()
    assert _unread(pipe) > before  # the order and the kill can be read together
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    assert outcome_without_polling(running) == Broken("killed")
    assert isinstance(ready.run("score")[0], Scored)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _unread(pipe: int) -> int:
    (size,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(size)


def test_a_kill_before_the_start(tmp_path: Path) -> None:
    with bench(tmp_path) as workbench:
        running = workbench.start("hang")
        running.kill()
        assert outcome_without_polling(running) == Broken("killed")
        wait_for(lambda: len(workbench.processes()) <= 2)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.05])
def test_a_kill_at_any_time(ready: Bench, delay: float) -> None:
    for _ in range(3):
        running = ready.start("hang")
        time.sleep(delay)
        running.kill()
        assert outcome_without_polling(running) == Broken("killed")
    assert isinstance(ready.run("score")[0], Scored)


@pytest.mark.parametrize("hanging", ["warden", "all"])
@pytest.mark.parametrize("reason", ["killed", "too long"])
def test_a_warden_that_hangs_is_killed(
    ready: Bench, monkeypatch: pytest.MonkeyPatch, reason: str, hanging: str
) -> None:
    name = {"killed": "PATIENCE_SECONDS", "too long": "WAKE_SECONDS"}[reason]
    monkeypatch.setattr(f"bentham.executors.process.{name}", 0.2)
    if reason == "too long":
        ready.executor.limits = TrialLimits(wall_seconds=0.3)
    wardens = ready.processes()
    forking = ready.executor._forks._process
    assert forking is not None
    if hanging == "all":
        monkeypatch.setattr("bentham.executors.fork_server.ANSWER_SECONDS", 0.2)
    else:  # the fork server kills it, and goes on
        wardens.remove(forking.pid)
    for pid in wardens:
        os.kill(pid, signal.SIGSTOP)
    running = ready.start("hang")
    wait_for(lambda: running.deadline is not None)
    if reason == "killed":
        running.kill()
    outcome = outcome_without_polling(running)
    assert isinstance(outcome, Broken)
    assert not outcome.final
    wait_for(lambda: not wardens & ready.processes())
    assert isinstance(ready.run("score")[0], Scored)
    assert (ready.executor._forks._process is forking) == (hanging == "warden")


# -- closing ------------------------------------------------------------------------------------


def test_closing_during_a_start_leaves_nothing(tmp_path: Path) -> None:
    workbench = Bench(tmp_path)
    running = workbench.start("hang")
    workbench.executor.close()
    assert running.poll() == Broken("killed")
    assert workbench.processes() == set()


def test_closing_never_raises(ready: Bench) -> None:
    client = ready.executor._clients[0]
    warden = client._warden
    assert warden is not None
    assert warden.stdin is not None
    warden.kill()
    warden.wait()
    warden.stdin.write(b"never to be read")  # stays in the buffer, so closing fails
    ready.executor.close()
    assert not list(ready.executor.folders.data.parent.joinpath("run").iterdir())


# -- data that other processes change -----------------------------------------------------------


def test_corrupt_or_pruned_data_is_fetched_again(
    workbench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = workbench.executor.folders.data / training()["hash"]
    cache = workbench.executor.data
    touched: list[Path] = []
    fetch = cache._fetch

    def fetched(plan: Any, pieces: Any, path: Path, cancelled: Callable[[], bool]) -> None:
        fetch(plan, pieces, path, cancelled)
        if not touched:  # as if another worker pruned it now
            touched.append(path)
            path.unlink()

    monkeypatch.setattr(cache, "_fetch", fetched)
    assert isinstance(workbench.run("read", training=training())[0], Scored)
    assert workbench.fetched == 2
    stored.chmod(0o644)
    stored.write_bytes(b"spoiled")
    outcome, _ = workbench.run("read", training=training())
    assert isinstance(outcome, Scored)
    assert outcome.score == len(CONTENT)
    assert (workbench.fetched, touched) == (3, [stored])


@pytest.mark.parametrize("user", [0, 1000])
def test_only_root_needs_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    monkeypatch.setattr("bentham.executors.data.os.geteuid", lambda: user)
    (tmp_path / "data").mkdir()
    cache = DataCache(tmp_path / "data", 10**6)
    plan = Training.model_validate(training())
    cache.provide(plan, lambda: [CONTENT], tmp_path / "place", lambda: False)
    shared = (tmp_path / "data" / plan.hash).stat().st_ino == (tmp_path / "place").stat().st_ino
    assert shared == (user != 0)
    assert (tmp_path / "place").read_bytes() == CONTENT
