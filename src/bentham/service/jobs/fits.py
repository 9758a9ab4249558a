"""Fits computed by a process of their own, while the service goes on deciding.

A fit takes up to some tenths of a second, and everybody would wait for it. It is needed only a few
scores after it is begun (`core.learning.ahead`), so it is sent to another process meanwhile. What
that process has not computed when it is needed, or cannot, is computed here: nothing but time
depends on it.

The process is started with the first fit worth it. It ends when its input does, and so with the
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
# A process that has not answered so long after its answer was needed is taken for stuck.
PATIENCE = 5.0
# It is not started more often than this in vain, one time after the other.
MOST_FAILURES = 3
COMMAND = (sys.executable, "-m", "bentham.service.jobs.fits")


class FitProcess:
    """Computes fits elsewhere. `begin` and `close` are called from one thread."""

    def __init__(self, command: Sequence[str] = ()):
        self._command = command or COMMAND
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._courier: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._failures = 0
        self._closing = False

    def begin(self, task: FitTask) -> Result:
        """Have a fit computed; the result is there when it is asked for, if that is not soon."""
        if self._closing or self._failures >= MOST_FAILURES:
            return task.run
        if self._courier is None:
            self._courier = threading.Thread(target=self._carry, name="bentham-fits", daemon=True)
            self._courier.start()
        job = _Job(task, self._kill)
        self._jobs.put(job)
        return job.result

    def close(self) -> None:
        """End the process, for good."""
        if self._courier is not None:
            self._closing = True
            self._jobs.put(None)
            self._kill()
            self._courier.join(PATIENCE)
            self._courier = None

    def _carry(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                process = self._running()
                if job.take_up():
                    job.settle(_answer(process, job.task))
                    self._failures = 0
            except Exception as error:  # what is no pickle may raise anything
                job.fail()
                if self._closing:
                    break
                self._failures += 1
                logger.warning("the process for fits failed; computed here", reason=repr(error))
                self._discard()
        self._discard()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            # What goes wrong there goes wrong here, too, when it is tried again, and is said then.
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=nowhere)
            assert self._process.stdout is not None
            if self._process.stdout.readline() != READY:
                raise EOFError("it did not start")
        return self._process

    def _kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes the pipes, and waits
                pass


class _Job:
    """A task in line; either the process takes it up, or whoever needs it computes it."""

    def __init__(self, task: FitTask, kill: Callable[[], None]):
        self.task, self._kill = task, kill
        self._lock = threading.Lock()
        self._state = "waiting"
        self._ended = threading.Event()
        self._parameters: Parameters | None = None

    def take_up(self) -> bool:
        """Whether it is still to be computed."""
        with self._lock:
            wanted = self._state == "waiting"
            if wanted:
                self._state = "under way"
        return wanted

    def settle(self, parameters: Parameters | None) -> None:
        """It is computed."""
        self._parameters, self._state = parameters, "done"
        self._ended.set()

    def fail(self) -> None:
        """It was not computed."""
        self._state = "failed"
        self._ended.set()

    def result(self) -> Parameters | None:
        """What comes of it."""
        with self._lock:
            if self._state == "waiting":
                self._state = "dropped"
        if self._state == "under way" and not self._ended.wait(PATIENCE):
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
    """Compute one fit after the other, until there is no more."""
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
    # Interrupts are for the service, which ends this in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whoever waits for an answer comes first: there is time for a fit.
    os.nice(10)
    compute(sys.stdin.buffer, sys.stdout.buffer)
