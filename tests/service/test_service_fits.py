"""Fits in a separate process: identical to the bit, and the service survives its failure."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import structlog
from support.paths import PYTHONPATH
from support.service_app import Service

from bentham.core import LearnedPrior
from bentham.core.learning.fit import Parameters
from bentham.core.learning.fit_task import FitTask
from bentham.service.jobs import fits
from bentham.service.jobs.fits import FitProcess
from bentham.storage import MemoryDatabase, MemoryLog

pytestmark = pytest.mark.outside

WAIT = 30.0


def task(seed: int = 0, datasets: int = 30) -> FitTask:
    rng = np.random.default_rng(seed)
    models = [f"m{number}" for number in range(8)]
    learner = LearnedPrior(models, features=rng.random((8, 2))).learner()
    for dataset in range(datasets):
        for model in rng.permutation(8)[:4].tolist():
            learner.note(f"d{dataset}", model, float(rng.normal(0.7, 0.1)))
    learner.fit()
    learner.note("last", 0, 0.5)
    return learner._task()


def assert_equal(found: Parameters | None, expected: Parameters | None) -> None:
    assert found is not None
    assert expected is not None
    for name in ("mean", "covariance"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.tobytes() == other.tobytes()
        assert one.strides == other.strides  # numpy sums in another order if strides differ
    rest = ("warp", "strengths", "target")
    assert [repr(getattr(found, name)) for name in rest] == [
        repr(getattr(expected, name)) for name in rest
    ]


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


@pytest.fixture
def process() -> Iterator[FitProcess]:
    started = FitProcess()
    yield started
    started.close()


def finished_job(process: FitProcess, fit_task: FitTask) -> fits._Job:
    """Start a fit; return its job once the process has finished it."""
    job = process.begin(fit_task).__self__  # type: ignore[attr-defined]
    assert isinstance(job, fits._Job)
    until(job._ended.is_set)
    return job


def test_the_process_computes_the_same(process: FitProcess) -> None:
    for seed in range(3):
        job = finished_job(process, task(seed))
        assert job._state == "done"
        assert_equal(job.result(), task(seed).run())


def test_a_fit_needed_before_its_turn_is_computed_here(process: FitProcess) -> None:
    one, other = process.begin(task(1)), process.begin(task(2))
    assert_equal(other(), task(2).run())
    assert_equal(one(), task(1).run())
    job = fits._Job(task(3), lambda: None)
    assert_equal(job.result(), task(3).run())
    assert not job.take_up()  # no process may start it any more


def test_a_process_that_is_killed_is_replaced(process: FitProcess) -> None:
    finished_job(process, task())
    process._kill()
    with structlog.testing.capture_logs():
        for seed in range(2):
            job = finished_job(process, task(seed))
            assert_equal(job.result(), task(seed).run())
    assert job._state == "done"


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit(3)",
        "print('ready', flush=True)",
        "print('what?', flush=True); input()",
        "print('ready'); print('Iten', flush=True); input()",
        "print('ready'); print('cno.such\\nthing', flush=True); input()",
    ],
)
def test_a_process_that_keeps_failing_is_not_restarted(program: str) -> None:
    process = FitProcess([sys.executable, "-c", program])
    try:
        with structlog.testing.capture_logs() as logs:
            for _ in range(fits.MOST_FAILURES):
                job = finished_job(process, task())
                assert job._state == "failed"
                assert_equal(job.result(), task().run())
        assert [log["log_level"] for log in logs] == ["warning"] * fits.MOST_FAILURES
        again = task()
        assert process.begin(again) == again.run
    finally:
        process.close()


def test_a_process_that_is_stuck_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits, "PATIENCE", 0.2)
    program = "import time; print('ready', flush=True); time.sleep(1000)"
    process = FitProcess([sys.executable, "-c", program])
    try:
        with structlog.testing.capture_logs():
            job = process.begin(task()).__self__  # type: ignore[attr-defined]
            until(lambda: job._state == "running")
            child = process._process
            assert child is not None
            assert_equal(job.result(), task().run())
            until(job._ended.is_set)
        until(lambda: child.poll() is not None)
    finally:
        process.close()


def test_closing_ends_the_process_without_log_messages() -> None:
    process = FitProcess()
    finished_job(process, task())
    process.begin(task(datasets=400))
    child = process._process
    assert child is not None
    with structlog.testing.capture_logs() as logs:
        process.close()
    assert child.poll() is not None
    assert logs == []
    process.close()
    late = task()
    assert process.begin(late) == late.run


def test_it_does_not_outlive_the_service(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys, time\n"
        "from service.test_service_fits import finished_job, task\n"
        "from bentham.service.jobs.fits import FitProcess\n"
        "process = FitProcess()\n"
        "finished_job(process, task())\n"
        "print(process._process.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, env=environment
    )
    assert parent.stdout is not None
    try:
        child = int(parent.stdout.readline())
        os.kill(child, signal.SIGINT)  # as Ctrl-C in a terminal does; this process must ignore it
        os.kill(child, 0)
    finally:
        parent.kill()
        parent.communicate()

    def has_ended() -> bool:
        with suppress(FileNotFoundError):
            return Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        return True

    until(has_ended)


def test_a_service_with_a_fit_process_decides_the_same() -> None:
    database = MemoryDatabase()
    service = Service(lambda: MemoryLog(database))
    used: list[str] = []
    fits = service.engine._fits
    assert isinstance(fits, FitProcess)
    begin = fits.begin
    learner = service.pool.scheduler._state._learner
    assert learner is not None
    assert learner.begin == begin

    def recorded(fit_task: FitTask) -> Callable[[], Parameters | None]:
        result = begin(fit_task)
        job = result.__self__  # type: ignore[attr-defined]
        until(job._ended.is_set)  # so that its result is used
        used.append(job._state)
        return result

    service.pool.scheduler.fit_by(recorded)
    rng = np.random.default_rng(0)
    owner = service.tenant("a")
    for study in range(12):
        service.study(owner, f"s{study}", 8)
    device = service.device()
    assert len(service.run_all(device, "gpu", lambda _: float(rng.random()))) == 96
    assert used
    assert set(used) == {"done"}
    child = fits._process
    assert child is not None
    before = repr(
        [service.pool.scheduler.beliefs(study) for study in service.pool.scheduler.studies]
    )
    service.close()
    assert child.poll() is not None
    restarted = Service(lambda: MemoryLog(database))
    scheduler = restarted.pool.scheduler
    assert repr([scheduler.beliefs(study) for study in scheduler.studies]) == before
    restarted.close()
