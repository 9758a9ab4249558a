"""What the machine lacks gives a trial back untried; and a kill is never lost."""

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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux")


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def made(tmp_path: Path, told: list[str]) -> Iterator[Bench]:
    with bench(tmp_path / "worker", warn=told.append) as made:
        yield made


# -- faults of the machine ----------------------------------------------------------------------


def given_back(outcome: Outcome, reason: str, folder: Path) -> None:
    assert isinstance(outcome, Declined), outcome
    assert not outcome.unable
    assert reason in outcome.reason
    assert str(folder) not in outcome.reason


def test_a_folder_that_was_removed_is_made_again(made: Bench, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "worker")
    assert isinstance(made.run("read", training=training())[0], Scored)
    assert (tmp_path / "worker" / "run").stat().st_mode & 0o777 == 0o700


def test_without_a_folder_trials_are_given_back(
    made: Bench, tmp_path: Path, told: list[str]
) -> None:
    shutil.rmtree(tmp_path / "worker")
    (tmp_path / "worker").touch()
    given_back(made.run("score")[0], "could not be run: ", tmp_path)
    assert str(tmp_path) in told[0]  # the operator is told where
    (tmp_path / "worker").unlink()
    assert isinstance(made.run("score")[0], Scored)


def test_data_that_cannot_be_kept_is_no_fault_of_the_model(
    made: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "x"))

    monkeypatch.setattr(made.executor.data, "_fetch", full)
    outcome, _ = made.run("read", training=training())
    given_back(outcome, "its data could not be fetched: OSError: No space left", tmp_path)


def test_without_a_warden_trials_are_given_back(
    made: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = str(tmp_path / "no-python")
    monkeypatch.setattr("bentham.executors.warden_client.sys.executable", gone)
    given_back(made.run("score")[0], "FileNotFoundError", tmp_path)
    monkeypatch.setattr("bentham.executors.warden_client.sys.executable", shutil.which("false"))
    with bench(tmp_path / "other") as other:
        given_back(other.run("score")[0], "monitors trials ended (exit status 1)", tmp_path)


def test_a_warden_that_died_idle_costs_no_try(made: Bench, tmp_path: Path) -> None:
    assert isinstance(made.run("score")[0], Scored)
    client = made.executor._clients[0]
    warden = client._warden
    assert warden is not None
    planned = made.executor._plan

    def plan(*given: Any) -> Any:  # it dies after it was found alive, and before it has an order
        warden.kill()
        warden.wait()
        return planned(*given)

    made.executor._plan = plan
    given_back(made.run("score")[0], "killed by SIGKILL", tmp_path)
    made.executor._plan = planned
    assert isinstance(made.run("score")[0], Scored)


def test_where_a_trial_cannot_be_set_up_it_is_given_back(made: Bench, tmp_path: Path) -> None:
    planned = made.executor._plan

    def plan(lease: Any, data: str) -> Any:  # after the folder was made, and before it is entered
        Path(data).parent.rmdir()
        return planned(lease, data)

    made.executor._plan = plan
    given_back(made.run("score")[0], "could not be set up: FileNotFoundError", tmp_path)


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_a_warden_that_cannot_fork_gives_back_and_leaves_nothing_open(
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
    said = wardens._run(order(), Containment("group"), Channel(-1, -1))  # type: ignore[arg-type]
    given_back(outcome_of(said), "could not be started: BlockingIOError", tmp_path)
    assert len(os.listdir("/proc/self/fd")) == opened


def test_causes_name_no_paths() -> None:
    assert (
        cause(FileNotFoundError(2, "No such file", "/home/x")) == "FileNotFoundError: No such file"
    )
    assert cause(ValueError("odd")) == "ValueError: odd"
    assert cause(OSError("no device")) == "OSError: no device"
    assert cause(MemoryError()) == "MemoryError"


# -- kills --------------------------------------------------------------------------------------


def over(running: ProcessTrial, seconds: float = 3.0) -> Outcome:
    """The end of a trial that nobody polls."""
    wait_for(lambda: running._outcome is not None, seconds)
    outcome = running._outcome
    assert outcome is not None
    return outcome


@pytest.fixture
def ready(made: Bench) -> Bench:
    assert isinstance(made.run("score")[0], Scored)
    return made


def test_a_kill_that_comes_with_its_order_is_heeded(ready: Bench) -> None:
    warden = ready.executor._clients[0]._warden
    assert warden is not None
    assert warden.stdin is not None
    pipe = warden.stdin.fileno()
    stopped = ready.processes()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: all(_is_stopped(pid) for pid in stopped))  # else it may still read the order
    running = ready.start("hang")
    wait_for(lambda: _unread(pipe) > 0)
    before = _unread(pipe)
    running.kill()
    assert _unread(pipe) > before  # both are there to be read at once
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    assert over(running) == Broken("killed")
    assert isinstance(ready.run("score")[0], Scored)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _unread(pipe: int) -> int:
    (size,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(size)


def test_a_kill_before_the_start_is_heeded(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        running = made.start("hang")
        running.kill()
        assert over(running) == Broken("killed")
        wait_for(lambda: len(made.processes()) <= 2)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.05])
def test_a_kill_at_any_time_is_heeded(ready: Bench, delay: float) -> None:
    for _ in range(3):
        running = ready.start("hang")
        time.sleep(delay)
        running.kill()
        assert over(running) == Broken("killed")
    assert isinstance(ready.run("score")[0], Scored)


@pytest.mark.parametrize("how", ["killed", "too long"])
def test_a_warden_that_hangs_is_killed(
    ready: Bench, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    name = {"killed": "PATIENCE_SECONDS", "too long": "WAKE_SECONDS"}[how]
    monkeypatch.setattr(f"bentham.executors.process.{name}", 0.2)
    if how == "too long":
        ready.executor.limits = TrialLimits(wall_seconds=0.3)
    wardens = ready.processes()
    for pid in wardens:
        os.kill(pid, signal.SIGSTOP)
    running = ready.start("hang")
    wait_for(lambda: running.deadline is not None)
    if how == "killed":
        running.kill()
    outcome = over(running)
    assert isinstance(outcome, Broken)
    assert not outcome.final
    wait_for(lambda: not wardens & ready.processes())
    assert isinstance(ready.run("score")[0], Scored)


# -- closing ------------------------------------------------------------------------------------


def test_closing_amid_a_start_leaves_nothing(tmp_path: Path) -> None:
    made = Bench(tmp_path)
    running = made.start("hang")
    made.executor.close()
    assert running.poll() == Broken("killed")
    assert made.processes() == set()


def test_closing_never_raises(ready: Bench) -> None:
    client = ready.executor._clients[0]
    warden = client._warden
    assert warden is not None
    assert warden.stdin is not None
    warden.kill()
    warden.wait()
    warden.stdin.write(b"never to be read")  # kept back, so that to close fails
    ready.executor.close()
    assert not list(ready.executor.folders.data.parent.joinpath("run").iterdir())


# -- data that others touch ---------------------------------------------------------------------


def test_data_that_was_spoiled_or_pruned_meanwhile_is_fetched_again(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = made.executor.folders.data / training()["hash"]
    cache = made.executor.data
    touched: list[Path] = []
    fetch = cache._fetch

    def fetched(asked: Any, pieces: Any, path: Path, given_up: Callable[[], bool]) -> None:
        fetch(asked, pieces, path, given_up)
        if not touched:  # another worker needs the room just now
            touched.append(path)
            path.unlink()

    monkeypatch.setattr(cache, "_fetch", fetched)
    assert isinstance(made.run("read", training=training())[0], Scored)
    assert made.fetched == 2
    kept.chmod(0o644)
    kept.write_bytes(b"spoiled")
    outcome, _ = made.run("read", training=training())
    assert isinstance(outcome, Scored)
    assert outcome.score == len(CONTENT)
    assert (made.fetched, touched) == (3, [kept])


@pytest.mark.parametrize("user", [0, 1000])
def test_only_root_needs_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    monkeypatch.setattr("bentham.executors.data.os.geteuid", lambda: user)
    (tmp_path / "data").mkdir()
    cache = DataCache(tmp_path / "data", 10**6)
    asked = Training.model_validate(training())
    cache.provide(asked, lambda: [CONTENT], tmp_path / "place", lambda: False)
    shared = (tmp_path / "data" / asked.hash).stat().st_ino == (tmp_path / "place").stat().st_ino
    assert shared == (user != 0)
    assert (tmp_path / "place").read_bytes() == CONTENT
