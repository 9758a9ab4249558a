"""Computes fits in a separate process, while the service continues to make decisions.

A fit takes up to a few tenths of a second, and all requests would wait for it. Its result is needed
only a few scores after it is started (`core.learning.fit_task`), so another process computes it in
the meantime. If that process has not computed it when it is needed, or cannot, it is computed here:
this affects only the time it takes, not the result.

The process is started with the first fit. It ends when its input is closed, and so with the
service, however that ends.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import BinaryIO

import structlog

from bentham.core.learning.fit import Parameters
from bentham.core.learning.fit_task import FitTask, Result

logger = structlog.get_logger("bentham.fits")

READY = b"ready\n"
# Seconds to wait for a result that is needed; then the process is considered stuck.
PATIENCE = 5.0
# After this many consecutive failures the process is not started again.
MOST_FAILURES = 3
COMMAND = (sys.executable, "-m", "bentham.service.jobs.fits")


class FitProcess:
    """Computes fits in another process. `begin` and `close` are called from one thread."""

    def __init__(self, command: Sequence[str] = ()):
        self._command = command or COMMAND
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._failures = 0
        self._closing = False

    def begin(self, task: FitTask) -> Result:
        """Start a fit; calling the returned function waits for the result."""
        if self._closing or self._failures >= MOST_FAILURES:
            return task.run
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="bentham-fits", daemon=True)
            self._thread.start()
        job = _Job(task, self._kill)
        self._jobs.put(job)
        return job.result

    def close(self) -> None:
        """Stop the process permanently."""
        if self._thread is not None:
            self._closing = True
            self._jobs.put(None)
            self._kill()
            self._thread.join(PATIENCE)
            self._thread = None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                process = self._running()
                if job.take_up():
                    job.finish(_answer(process, job.task))
                    self._failures = 0
            except Exception as error:  # an invalid pickle may raise any exception
                job.fail()
                if self._closing:
                    break
                self._failures += 1
                logger.warning("the fit process failed; computing here", reason=repr(error))
                self._discard()
        self._discard()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe, devnull = subprocess.PIPE, subprocess.DEVNULL
            # An error there occurs again when the fit is computed here, and is reported then.
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=devnull)
            assert self._process.stdout is not None
            if self._process.stdout.readline() != READY:
                raise EOFError("the process did not start")
        return self._process

    def _kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes the pipes and waits
                pass


class _Job:
    """A queued task: either the process takes it, or the caller that needs it computes it."""

    def __init__(self, task: FitTask, kill: Callable[[], None]):
        self.task, self._kill = task, kill
        self._lock = threading.Lock()
        self._state = "waiting"
        self._ended = threading.Event()
        self._parameters: Parameters | None = None

    def take_up(self) -> bool:
        """Take the task for the process; return whether it is still needed."""
        with self._lock:
            wanted = self._state == "waiting"
            if wanted:
                self._state = "running"
        return wanted

    def finish(self, parameters: Parameters | None) -> None:
        """Set the result."""
        self._parameters, self._state = parameters, "done"
        self._ended.set()

    def fail(self) -> None:
        """Mark the task as not computed."""
        self._state = "failed"
        self._ended.set()

    def result(self) -> Parameters | None:
        """Return the result; compute it here if the process has not."""
        with self._lock:
            if self._state == "waiting":
                self._state = "dropped"
        if self._state == "running" and not self._ended.wait(PATIENCE):
            self._kill()
        return self._parameters if self._state == "done" else self.task.run()


def _answer(process: "subprocess.Popen[bytes]", task: FitTask) -> Parameters | None:
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(task, process.stdin, protocol=5)
    process.stdin.flush()
    parameters: Parameters | None = pickle.load(process.stdout)
    return parameters


def compute(tasks: BinaryIO, answers: BinaryIO) -> None:
    """Compute one fit after the other, until the input ends."""
    answers.write(READY)
    answers.flush()
    while True:
        try:
            task: FitTask = pickle.load(tasks)
        except EOFError:
            return
        pickle.dump(task.run(), answers, protocol=5)
        answers.flush()


if __name__ == "__main__":
    # The service handles interrupts, and stops this process itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Requests have priority over fits, which are not urgent.
    os.nice(10)
    compute(sys.stdin.buffer, sys.stdout.buffer)
