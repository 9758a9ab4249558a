"""The process executor: every trial ends with a reason and leaves no process behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.executor_contract import ExecutorContract, lease
from support.misbehaving import marked_processes
from support.paths import PYTHONPATH, SOURCE, TESTS
from support.process_trials import MIB, Bench, bench, ended, wait_for

from bentham.executors import Broken, Executor, Progress, Scored
from bentham.executors.containment import Hold
from bentham.wire import Lease

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux"),
]
HOLDS: list[Hold] = ["namespace", "descendants"]
GOOD = Scored(0.5, {"accuracy": 0.5}, (0.4, 0.6))


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Hold], Bench]]:
    """Share one executor per kind of containment: its warden survives misbehaving trials."""
    used: dict[Hold, Bench] = {}
    with ExitStack() as stack:

        def get(hold: Hold) -> Bench:
            if hold not in used:
                used[hold] = stack.enter_context(bench(tmp_path_factory.mktemp("worker"), hold))
                assert used[hold].run("score")[0] == GOOD
            return used[hold]

        yield get


@pytest.fixture(params=HOLDS)
def shared(benches: Callable[[Hold], Bench], request: pytest.FixtureRequest) -> Bench:
    return benches(request.param)


class TestProcess(ExecutorContract):
    @pytest.fixture
    def executor(
        self,
        benches: Callable[[Hold], Bench],
        tmp_path: Path,
        request: pytest.FixtureRequest,
    ) -> Iterator[Executor]:
        if "closing" not in request.node.name:
            yield benches("namespace").executor
            return
        with bench(tmp_path) as used:
            yield used.executor

    @pytest.fixture
    def scoring(self) -> Lease:
        return lease("score")

    @pytest.fixture
    def endless(self) -> Lease:
        return lease("hang")

    @pytest.fixture
    def unknown(self) -> Lease:
        return lease("unknown")


ENDS: list[tuple[str, dict[str, Any], dict[str, Any], str, bool]] = [
    # model, job, limits, reason, final
    ("hang", {}, {"wall_seconds": 0.5}, "ran for more than 0.5 seconds", True),
    ("stubborn", {}, {"wall_seconds": 0.5}, "ran for more than 0.5 seconds", True),
    ("busy", {}, {"cpu_seconds": 0.3}, "used more than 0.3 seconds of CPU time", True),
    ("busy_children", {}, {"cpu_seconds": 0.6}, "used more than 0.6 seconds of CPU", True),
    ("eat", {"bytes": 10**11}, {}, "MemoryError.*used more than 256 MiB of memory", True),
    ("eat_slowly", {"bytes": 400 * MIB}, {}, "used more than 256 MiB of memory", True),
    ("wrong", {}, {}, r"^ValueError: the columns do not fit \?\[31mat all$", True),
    ("leave", {"status": 0}, {}, "^ended without a score$", True),
    ("leave", {"status": 3}, {}, "^ended with exit status 3$", True),
    ("quit_early", {}, {}, "^SystemExit: enough of this$", True),
    ("crash", {}, {}, r"^crashed \(SIGSEGV\)$", True),
    ("abort", {}, {}, r"^crashed \(SIGABRT\)$", True),
    ("killed", {"signal": 15}, {}, r"^killed from outside \(SIGTERM\)$", False),
    ("killed", {"signal": 9}, {}, r"^killed from outside \(SIGKILL\), perhaps .*memory$", False),
    ("text_score", {}, {}, "not a result with a score.*'high'", True),
    ("nothing", {}, {}, "not a result with a score", True),
    ("score", {"score": "nan"}, {}, "the score is nan, not a finite number", True),
    ("score", {"score": "-inf"}, {}, "the score is -inf, not a finite number", True),
    ("garbage", {}, {}, "sent a report that cannot be read", True),
    ("scribble", {}, {}, "File too large", True),
]


@pytest.mark.parametrize(
    ("model", "job", "limits", "reason", "final"), ENDS, ids=[f"{e[0]}{e[1] or ''}" for e in ENDS]
)
def test_a_failed_trial_reports_the_reason(
    shared: Bench,
    model: str,
    job: dict[str, Any],
    limits: dict[str, Any],
    reason: str,
    final: bool,
) -> None:
    before = shared.processes()
    outcome, log = shared.run(model, job, limits)
    assert isinstance(outcome, Broken)
    assert re.search(reason, outcome.reason), outcome.reason
    assert outcome.final == final
    if "score" not in job:  # otherwise the executor, not the warden, rejects the score
        assert "[bentham: " in log
    assert shared.processes() <= before  # processes of an earlier trial may have ended meanwhile
    assert shared.run("score")[0] == GOOD  # the warden still works


def test_a_fork_bomb_is_killed(shared: Bench, tmp_path: Path) -> None:
    before = shared.processes()
    outcome, _ = shared.run("bomb", {"count": str(tmp_path / "count")})
    assert outcome == Broken("ran more than 20 processes, the limit of a trial here", True)
    assert shared.processes() <= before  # processes of an earlier trial may have ended meanwhile


@pytest.mark.parametrize("then", ["", "hang", "kill"])
def test_detached_processes_end_with_their_trial(shared: Bench, tmp_path: Path, then: str) -> None:
    before = shared.processes()
    beats = tmp_path / "beats"
    running = shared.start("detach", {"beats": str(beats), "then": "hang" if then else ""})
    if then:
        wait_for(beats.exists)
        if then == "kill":
            running.kill()
        else:
            (keeper,) = set(os.listdir("/proc")) & {str(pid) for pid in _keepers(shared, before)}
            os.kill(int(keeper), signal.SIGKILL)
    outcome = ended(running)
    if then == "kill":
        assert outcome == Broken("killed")
    elif then:
        assert isinstance(outcome, Broken)
        assert not outcome.final
    else:
        assert outcome == GOOD
    assert shared.processes() <= before  # processes of an earlier trial may have ended meanwhile
    size = beats.stat().st_size
    time.sleep(0.05)  # five beats
    assert beats.stat().st_size == size


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _keepers(shared: Bench, wardens: set[int]) -> list[int]:
    """Return the keepers: processes with children whose parent is a warden."""
    found = []
    for pid in shared.processes() - wardens:
        parent = _parent(pid)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if parent in wardens and children:
            found.append(pid)
    return found


def test_shared_memory_counts_once(shared: Bench) -> None:
    assert shared.run("share_memory", {"bytes": 100 * MIB})[0] == GOOD


def test_a_trial_may_start_programs(shared: Bench) -> None:
    outcome, _ = shared.run("with_children")
    assert isinstance(outcome, Scored)
    assert outcome.score == 0.75


def test_much_output_is_cut_in_the_middle(shared: Bench) -> None:
    outcome, log = shared.run("chatter", {"bytes": 20_000_000})
    assert outcome == GOOD
    assert log.startswith("the first line\n")
    assert log.endswith("the last line\n")
    assert log.count("bytes left out") == 1
    assert 60_000 < len(log) <= 65_536
    newest = max(shared.executor.folders.log("x").parent.iterdir(), key=lambda p: p.stat().st_mtime)
    assert newest.stat().st_size < 1_100_000
    text = newest.read_text()
    assert text.count("left out") == 1
    left_out = int(text.partition("[... ")[2].partition(" ")[0].replace(",", ""))
    gap = len(f"\n[... {left_out:,} bytes left out ...]\n")
    printed = len("the first line\n") + 20_000_000 + len("the last line\n")
    assert len(text) - gap + left_out == printed


def test_a_trial_that_closes_its_streams_can_report(shared: Bench) -> None:
    assert shared.run("deaf")[0] == GOOD


def test_a_trial_sees_nothing_of_the_worker(shared: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENTHAM_TOKEN", "bth_secret")
    _, log = shared.run("show_environment")
    visible = eval(log)
    environment = visible["environment"]
    assert "bth_secret" not in log
    assert not [name for name in environment if name.startswith("BENTHAM_TOKEN")]
    assert environment["HOME"] == environment["TMPDIR"] == visible["folder"]
    assert not Path(visible["folder"]).exists()
    assert environment["OMP_NUM_THREADS"] == "1"
    assert len(visible["files"]) == 5  # three streams, the reports, and the folder being listed
    if shared.executor._forks.hold == "namespace":
        assert (visible["pid"], visible["processes"]) == (2, 2)


def test_progress_is_reported_while_a_trial_runs(shared: Bench, tmp_path: Path) -> None:
    wait = tmp_path / "wait"
    wait.touch()
    running = shared.start("steps", {"wait": str(wait)})
    wait_for(lambda: running.progress() == Progress(0.25, (0.4,)))
    assert running.poll() is None
    wait.unlink()
    assert ended(running) == GOOD


def test_a_crashing_trial_does_not_affect_others(shared: Bench, tmp_path: Path) -> None:
    wait = tmp_path / "wait"
    wait.touch()
    running = shared.start("steps", {"wait": str(wait)})
    for model, job in (("crash", {}), ("bomb", {"count": str(tmp_path / "count")})):
        assert isinstance(shared.run(model, job)[0], Broken)
    assert running.poll() is None
    wait.unlink()
    assert ended(running) == GOOD


# -- the death of wardens and workers -----------------------------------------------------------


KILLED = Broken("the process that monitors trials ended (killed by SIGKILL)")


@pytest.mark.parametrize("hold", HOLDS)
def test_killing_a_warden_ends_its_trial_and_no_other(tmp_path: Path, hold: Any) -> None:
    with bench(tmp_path / "worker", hold) as used:
        wait = tmp_path / "wait"
        wait.touch()
        other = used.start("steps", {"wait": str(wait)})
        wait_for(lambda: other.progress() == Progress(0.25, (0.4,)))
        others = used.processes()
        beats = tmp_path / "beats"
        # Without a namespace, a detached process would survive.
        model = "detach" if hold == "namespace" else "hang"
        running = used.start(model, {"beats": str(beats), "then": "hang"})
        wait_for(lambda: len(used.processes()) >= len(others) + 3)
        if hold == "namespace":
            wait_for(beats.exists)
        (warden,) = (pid for pid in used.processes() - others if _parent(pid) in others)
        os.kill(warden, signal.SIGKILL)
        assert ended(running) == KILLED
        wait_for(lambda: used.processes() == others)
        assert other.poll() is None
        assert used.run("score")[0] == GOOD  # a new warden replaces it
        wait.unlink()
        assert ended(other) == GOOD


@pytest.mark.parametrize("hold", HOLDS)
def test_a_fork_server_that_dies_is_replaced(tmp_path: Path, hold: Any) -> None:
    with bench(tmp_path / "worker", hold) as used:
        wait = tmp_path / "wait"
        wait.touch()
        running = [used.start("steps", {"wait": str(wait)}) for _ in range(2)]
        wait_for(lambda: all(each.progress().share == 0.25 for each in running))
        process = used.executor._forks._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        if hold == "namespace":  # the kernel ends all that it started
            assert [ended(each) for each in running] == [KILLED] * 2
            wait_for(lambda: not used.processes())
            assert used.run("score")[0] == GOOD
        else:
            wait_for(lambda: process.pid not in used.processes())
            running.append(used.start("score"))
            wait.unlink()
            assert [ended(each) for each in running] == [GOOD] * 3
        assert used.executor._forks._process is not process


SCRIPT = """
import sys, time
from pathlib import Path
from support.process_trials import Bench
folder, hold, models = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
bench = Bench(folder / "worker", hold)
print(bench.marker, flush=True)
job = {"beats": str(folder / "beats"), "count": str(folder / "count")}
for model in models:
    print(bench.run(model, job)[0], flush=True)
if not models:
    bench.start("detach", {**job, "then": "hang"})
    while True:
        time.sleep(1)
bench.executor.close()
"""
UNPRIVILEGED = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Root without the capability to create PID namespaces, except in a user namespace.
WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-sys_admin")


def worker(folder: Path, hold: str, models: str = "", prefix: Sequence[str] = ()) -> Any:
    """Start a worker in its own process, optionally as another user."""
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [*prefix, sys.executable, "-c", SCRIPT, str(folder), hold, *models.split()]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("hold", HOLDS)
def test_killing_a_worker_leaves_no_processes(tmp_path: Path, hold: str) -> None:
    beats = tmp_path / "beats"
    with worker(tmp_path, hold) as running:
        marker = running.stdout.readline().strip()
        wait_for(beats.exists)
        assert (
            len(marked_processes(marker)) >= 5
        )  # the fork server, the warden, the keeper, the trial and what it left
        running.kill()
    wait_for(lambda: not marked_processes(marker))
    # The next worker deletes its files.
    assert list((tmp_path / "worker" / "run").glob("*/*"))
    with bench(tmp_path / "worker"):
        assert len(list((tmp_path / "worker" / "run").glob("*.lock"))) == 1
        assert not list((tmp_path / "worker" / "run").glob("*/*"))


@pytest.mark.parametrize(
    "prefix", [UNPRIVILEGED, WITHOUT_CAPABILITIES], ids=["nobody", "without capabilities"]
)
def test_a_worker_needs_no_privileges(prefix: Sequence[str]) -> None:
    """With PID namespaces in a user namespace, or without if the system forbids them."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can change the user")
    read = [Path(sys.executable).resolve(), Path(sys.prefix), SOURCE, TESTS]
    if prefix == UNPRIVILEGED and not all(
        each.stat().st_mode & 0o005 == 0o005 for path in read for each in (path, *path.parents)
    ):
        pytest.skip("the interpreter or these tests are not readable by all users")
    folder = Path(tempfile.mkdtemp(prefix="bentham-test-"))
    try:
        if prefix == UNPRIVILEGED:
            os.chown(folder, 65534, 65534)
        with worker(
            folder, "namespace", "score detach bomb show_environment score", prefix
        ) as running:
            out, _ = running.communicate(timeout=60)
        marker, first, second, third, _, fifth = out.splitlines()
        assert first == second == fifth == repr(GOOD)
        assert "ran more than 20 processes" in third
        assert not marked_processes(marker)
        if subprocess.run([*prefix, "unshare", "--user", "true"], check=False).returncode == 0:
            logs = [path.read_text() for path in (folder / "worker" / "logs").iterdir()]
            assert [log for log in logs if "'processes': 2, 'pid': 2" in log]
    finally:
        shutil.rmtree(folder)
