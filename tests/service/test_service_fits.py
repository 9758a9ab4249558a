"""Fits in a process of their own: the same to the bit, and nothing hangs on the process."""

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
        assert one.strides == other.strides  # in another order numpy would add up otherwise
    rest = ("warp", "strengths", "target")
    assert [repr(getattr(found, name)) for name in rest] == [
        repr(getattr(expected, name)) for name in rest
    ]


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def process() -> Iterator[FitProcess]:
    made = FitProcess()
    yield made
    made.close()


def begun(process: FitProcess, what: FitTask) -> fits._Job:
    """A job that the process has ended."""
    job = process.begin(what).__self__  # type: ignore[attr-defined]
    assert isinstance(job, fits._Job)
    until(job._ended.is_set)
    return job


def test_another_process_finds_the_same(process: FitProcess) -> None:
    for seed in range(3):
        job = begun(process, task(seed))
        assert job._state == "done"
        assert_equal(job.result(), task(seed).run())


def test_what_is_needed_before_its_turn_is_computed_here(process: FitProcess) -> None:
    one, other = process.begin(task(1)), process.begin(task(2))
    assert_equal(other(), task(2).run())
    assert_equal(one(), task(1).run())
    job = fits._Job(task(3), lambda: None)
    assert_equal(job.result(), task(3).run())
    assert not job.take_up()  # nobody else computes it any more


def test_a_process_that_is_killed_is_replaced(process: FitProcess) -> None:
    begun(process, task())
    process._kill()
    with structlog.testing.capture_logs():
        for seed in range(2):
            job = begun(process, task(seed))
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
def test_a_process_that_is_of_no_use_is_given_up(program: str) -> None:
    process = FitProcess([sys.executable, "-c", program])
    try:
        with structlog.testing.capture_logs() as logs:
            for _ in range(fits.MOST_FAILURES):
                job = begun(process, task())
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
            until(lambda: job._state == "under way")
            child = process._process
            assert child is not None
            assert_equal(job.result(), task().run())
            until(job._ended.is_set)
        until(lambda: child.poll() is not None)
    finally:
        process.close()


def test_it_ends_when_it_is_closed_and_says_nothing() -> None:
    process = FitProcess()
    begun(process, task())
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
        "from service.test_service_fits import begun, task\n"
        "from bentham.service.jobs.fits import FitProcess\n"
        "process = FitProcess()\n"
        "begun(process, task())\n"
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
        os.kill(child, signal.SIGINT)  # as a terminal interrupts all: not for this one to heed
        os.kill(child, 0)
    finally:
        parent.kill()
        parent.communicate()

    def gone() -> bool:
        with suppress(FileNotFoundError):
            return Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        return True

    until(gone)


def test_a_service_has_its_fits_computed_elsewhere_and_decides_the_same() -> None:
    database = MemoryDatabase()
    service = Service(lambda: MemoryLog(database))
    used: list[str] = []
    fits = service.engine._fits
    assert isinstance(fits, FitProcess)
    begin = fits.begin
    learner = service.pool.scheduler._state._learner
    assert learner is not None
    assert learner.begin == begin

    def noted(what: FitTask) -> Callable[[], Parameters | None]:
        result = begin(what)
        job = result.__self__  # type: ignore[attr-defined]
        until(job._ended.is_set)  # so that it is this one that is used
        used.append(job._state)
        return result

    service.pool.scheduler.fit_by(noted)
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
    seen = repr([service.pool.scheduler.beliefs(study) for study in service.pool.scheduler.studies])
    service.close()
    assert child.poll() is not None
    again = Service(lambda: MemoryLog(database))
    scheduler = again.pool.scheduler
    assert repr([scheduler.beliefs(study) for study in scheduler.studies]) == seen
    again.close()
