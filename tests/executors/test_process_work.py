"""The process executor: commands, the data of trials, logs and folders."""

import os
import random
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.misbehaving import marked_processes
from support.process_trials import CONTENT, MIB, Bench, bench, ended, training, wait_for

from bentham.errors import InvalidInput, Unavailable
from bentham.executors import Broken, Declined, Progress, Scored, TrialLimits
from bentham.executors.capped_log import CappedLog, shortened
from bentham.executors.folders import Folders

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("worker")) as used:
        yield used


# -- commands -----------------------------------------------------------------------------------


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


COMMANDS: list[tuple[tuple[str, ...], object]] = [
    (shell("""echo hello; echo '{"score": 0.5}'; echo '{"score": 0.75}'"""), Scored(0.75)),
    (
        shell(
            """echo '{"progress": 0.5, "score": 0.25}'; echo '{"score": 1, "metrics": {"f1": 2}}'"""
        ),
        Scored(1.0, {"f1": 2.0}, (0.25,)),
    ),
    (shell("""printf '{"score": 0.5}'"""), Scored(0.5)),  # without an end of line
    (
        shell("""echo '{"score": 0.5}' >&2"""),
        "ended without a score; the command must print a line such",
    ),
    (shell("echo hello"), "ended without a score; the command must print a line such as"),
    (shell("""echo '{"score": 0.5}'; echo bad luck >&2; exit 3"""), "exit status 3: bad luck"),
    (shell("""echo '{"score": NaN}'"""), "the score is nan, not a finite number"),
    (shell("kill -SEGV $$"), "crashed (SIGSEGV)"),
    (shell("head -c 20000000 /dev/zero > large; sleep 9"), "exit status"),
    (shell("head -c 20000000 /dev/zero; echo; echo '{\"score\": 0.5}'"), Scored(0.5)),
    (shell("exec head -c 20000000 /dev/zero > large"), "wrote a file of more than 8 MiB"),
]


@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_outcomes_of_commands(shared: Bench, command: tuple[str, ...], expected: object) -> None:
    shared.commands["command"] = command
    if "sleep 9" in command[-1]:  # the child exceeds the file limit, the shell the time limit
        outcome, log = shared.run("command", limits={"wall_seconds": 0.5})
        assert outcome == Broken("ran for more than 0.5 seconds, the limit of a trial here", True)
        return
    outcome, log = shared.run("command")
    if isinstance(expected, str):
        assert isinstance(outcome, Broken)
        assert outcome.final
        assert expected in outcome.reason
    else:
        assert outcome == expected
    if "hello" in command[-1]:
        assert log.startswith("hello\n")


def test_a_missing_command_is_declined(shared: Bench) -> None:
    shared.commands["command"] = ("/far/no-such-program",)
    outcome, _ = shared.run("command")
    assert isinstance(outcome, Declined)
    assert outcome.unable
    assert "'no-such-program' could not be started: FileNotFoundError: No such" in outcome.reason


def test_a_command_reports_progress(shared: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    shared.commands["command"] = shell(
        f"""echo '{{"progress": 0.4, "score": 0.3}}'; while ! test -e {go}; do sleep 0.01; done;
        echo '{{"score": 0.9}}'"""
    )
    running = shared.start("command")
    wait_for(lambda: running.progress() == Progress(0.4, (0.3,)))
    go.touch()
    assert ended(running) == Scored(0.9, {}, (0.3,))


def test_memory_limit_of_commands(shared: Bench) -> None:
    eat = "x = bytearray(b'x') * 500_000_000; import time; time.sleep(60)"
    shared.commands["command"] = (sys.executable, "-c", eat)
    outcome, _ = shared.run("command")
    assert isinstance(outcome, Broken)
    assert "used more than 256 MiB of memory" in outcome.reason


# -- data ---------------------------------------------------------------------------------------


def test_data_is_fetched_once(shared: Bench) -> None:
    content = b"a,b\n" + b"once,1\n" * 9
    shared.content, before = [content[:3], content[3:]], shared.fetched
    # Trials of root get a copy. Those of other users can corrupt the shared file, which is then
    # fetched again.
    again = 1 if os.geteuid() == 0 else 2
    for model, fetched in (
        ("read", 1),
        ("read", 1),
        ("spoil", 1),
        ("read", again),
        ("read", again),
    ):
        outcome, _ = shared.run(model, training=training(content))
        assert isinstance(outcome, Scored)
        assert outcome.score == (0.5 if model == "spoil" else len(content))
        assert shared.fetched == before + fetched
    assert (shared.executor.folders.data / training(content)["hash"]).read_bytes() == content


def test_devices_that_need_the_same_data_fetch_it_once(shared: Bench) -> None:
    content = b"a,b\n" + b"shared,1\n" * 9
    shared.content, before = [content], shared.fetched
    trials = [shared.start("read", training=training(content)) for _ in range(2)]
    assert [type(ended(trial)) for trial in trials] == [Scored, Scored]
    assert shared.fetched == before + 1


@pytest.mark.parametrize(
    ("content", "changes", "reason"),
    [
        ([b"a,b\n1,3\n"], {}, "is wrong: expected 8 bytes with SHA-256"),
        ([CONTENT[:-1]], {}, "is wrong: expected"),
        ([CONTENT] * 1000, {}, "expected 8 bytes with SHA-256 .* received 16 or more"),
        ([CONTENT], {"hash": "../../etc/passwd"}, "is not a SHA-256 hash"),
        ([CONTENT], {"hash": "A" * 64}, "is not a SHA-256 hash"),
    ],
)
def test_wrong_data_is_refused(
    shared: Bench, content: list[bytes], changes: dict[str, Any], reason: str
) -> None:
    shared.content = content
    outcome, log = shared.run("read", training=training(**changes))
    assert isinstance(outcome, Declined)
    assert not outcome.unable
    assert re.search(reason, outcome.reason), outcome.reason
    assert log == ""
    stored = {path.name for path in shared.executor.folders.data.iterdir()}
    assert training(**changes)["hash"] not in stored
    assert not [name for name in stored if name.endswith(".part")]


def test_a_failed_download_does_not_fail_the_model(
    shared: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(_: object) -> Iterator[bytes]:
        yield CONTENT[:3]
        raise Unavailable("no server answers")

    monkeypatch.setattr(shared.executor, "fetch", fetch)
    assert shared.run("read", training=training())[0] == Declined(
        "its data could not be fetched: no server answers"
    )


def test_a_trial_is_killed_during_its_download(
    shared: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Event()

    def endless(_: object) -> Iterator[bytes]:
        while True:
            started.set()
            yield b""

    monkeypatch.setattr(shared.executor, "fetch", endless)
    running = shared.start("read", training=training())
    assert running.poll() is None  # start does not wait for the data
    assert started.wait(30.0)
    running.kill()
    assert ended(running) == Broken("killed")


def test_the_oldest_data_is_deleted_first(tmp_path: Path) -> None:
    with bench(tmp_path, largest_data=2 * MIB) as used:
        for number in range(5):
            content = random.Random(number).randbytes(MIB)
            used.content = [content]
            assert isinstance(used.run("read", training=training(content))[0], Scored)
        stored = [path.name for path in (tmp_path / "data").iterdir()]
        assert len(stored) == 2
        assert training(content)["hash"] in stored


# -- logs and folders ---------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [[b"abc"], [b"0123456789" * 3], [b"x"] * 29, [b"", b"y" * 1000]])
def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path, pieces: list[bytes]) -> None:
    path, complete = tmp_path / "log", b"".join(pieces)
    log = CappedLog(path, head=10, tail=15)
    for piece in pieces:
        log.write(piece)
    log.close()
    if len(complete) <= 25:
        assert path.read_bytes() == complete
    else:
        gap = f"\n[... {len(complete) - 25:,} bytes left out ...]\n".encode()
        assert path.read_bytes() == complete[:10] + gap + complete[-15:]
    path.write_bytes(complete)
    assert len(shortened(path, 200)) <= 200
    assert shortened(tmp_path / "none", 200) == b""


def test_old_logs_are_deleted(tmp_path: Path) -> None:
    with bench(tmp_path, kept_logs=3) as used:
        for _ in range(6):
            used.run("score", trial="../../t")
        assert len(list((tmp_path / "logs").iterdir())) == 3


def test_workers_share_a_folder(tmp_path: Path) -> None:
    first = Folders(tmp_path)
    work = first.work()
    second = Folders(tmp_path)
    assert work.exists()
    first.close()
    first.close()
    assert not work.exists()
    second.close()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=r"cannot be used .*--folder"):
        Folders(tmp_path / "file")


@pytest.mark.parametrize(
    "limits", [{"memory": 1000}, {"cpu_seconds": float("nan")}, {"wall_seconds": 0}]
)
def test_invalid_limits(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="give"):
        TrialLimits(**limits)


def test_closing_an_executor_ends_all_trials(tmp_path: Path) -> None:
    used = Bench(tmp_path)
    trials = [used.start("hang") for _ in range(2)]
    wait_for(lambda: len(used.processes()) >= 6)
    used.executor.close()
    used.executor.close()
    assert marked_processes(used.marker) == []
    wait_for(lambda: all(trial.poll() == Broken("killed") for trial in trials))
    assert not list((tmp_path / "run").iterdir())
