"""The executor's side of one warden: a thread that starts it, gives it trials and reads of them."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

from bentham.errors import BenthamError
from bentham.executors.channel import Order
from bentham.executors.containment import Hold

LOOK_SECONDS = 0.2  # between looks at whether a task is to end
CHUNK = 2**16


class Task(Protocol):
    """A trial to be run, as a warden client sees it."""

    unwanted: bool  # whether it was killed, perhaps before it began
    deadline: float | None  # for the warden to have ended it; then the warden hangs

    def prepare(self) -> Order | None:
        """Make ready, for as long as it takes; None when there is nothing to run after all."""
        ...

    def heard(self, said: dict[str, Any]) -> None:
        """Take what the warden said: progress, or the end."""
        ...

    def failed(self, error: Exception) -> None:
        """This kept it from being run."""
        ...

    def finish(self, reason: str) -> None:
        """All is over; where nothing was heard of an end, this was why."""
        ...


class WardenClient:
    """Runs one task at a time; `idle` is told when it could take another.

    With `ahead` its warden is started at once, and `ready` is set when no task would wait for it.

    The thread lives as long as its warden, which the kernel would otherwise kill: a process that
    is to die with its parent dies with the thread that started it.
    """

    def __init__(
        self,
        preload: Sequence[str],
        hold: Hold,
        environment: Mapping[str, str],
        idle: Callable[["WardenClient"], None],
        ahead: bool = False,
    ):
        self._command = [sys.executable, "-P", "-m", "bentham.executors.warden", "--hold", hold]
        self._command += [f"--preload={module}" for module in preload]
        self._environment, self._idle = dict(environment), idle
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._warden: subprocess.Popen[bytes] | None = None
        self._ready, self._ahead = False, ahead
        self._said = b""  # of the warden's answers, what has not been taken
        self._closed = False
        self.ready = threading.Event()
        self._sending = threading.Lock()  # held to write to the warden, start it or let it go
        self._thread = threading.Thread(target=self._live, daemon=True, name="warden-client")
        self._thread.start()

    def take(self, task: Task) -> None:
        """Run a task, after those given before."""
        self._tasks.put(task)

    def kill_trial(self) -> None:
        """End the trial that runs; its task hears of the end."""
        self._send({"kill": True})

    def close(self) -> None:
        """End the warden, with what it runs, and the thread."""
        with self._sending:
            self._closed = True
            self._tasks.put(None)
            warden = self._warden
            if warden is not None and warden.stdin is not None:
                with suppress(OSError):  # it is gone, and there was something left to tell it
                    warden.stdin.close()  # it ends its trial first, and then itself

    def wait(self, seconds: float) -> None:
        """Give a closed warden time to end; then kill it, and with it all that it runs."""
        self._thread.join(seconds)
        warden = self._warden
        if self._thread.is_alive() and warden is not None:
            warden.kill()
            warden.wait()

    def _live(self) -> None:
        if self._ahead:
            with suppress(Exception):  # then it fails for the first task again, which says so
                self._await_ready(self._woken())
            self.ready.set()
        while (task := self._tasks.get()) is not None:
            reason = "killed"
            try:
                warden = self._woken()
                order = task.prepare()
                if order is not None:
                    reason = self._run(warden, task, order)
            except Exception as error:
                task.failed(error)
            self._idle(self)  # first: who sees the end may begin the next at once
            task.finish(reason)
        self._reap()

    def _woken(self) -> "subprocess.Popen[bytes]":
        """A warden that lives; it imports what it needs while data is fetched."""
        if self._warden is not None and self._warden.poll() is None:
            return self._warden
        self._reap()
        with self._sending:
            if self._closed:
                raise BenthamError("the worker ends")
            self._ready, self._said = False, b""
            self._warden = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C at the terminal is for the worker
            )
        return self._warden

    def _run(self, warden: "subprocess.Popen[bytes]", task: Task, order: Order) -> str:
        """Have a trial run to its end; the answer is why there was none, if there was none.

        Raises where it was not begun: then the model is not to blame.
        """
        # Only now the order, which may be long: to kill a trial must never wait for imports.
        if not self._await_ready(warden, task):
            return "killed"
        if not self._send(order):
            raise BenthamError(f"the process that watches trials {_how_ended(warden)}")
        if task.unwanted:  # it may have been told before there was a trial to kill
            self.kill_trial()
        while (line := self._line(warden, task)) is not None:
            said = json.loads(line)
            task.heard(said)
            if "ended" in said:
                return ""
        return f"the process that watches trials {_how_ended(warden)}"

    def _await_ready(self, warden: "subprocess.Popen[bytes]", task: Task | None = None) -> bool:
        """Wait until it has imported what trials need; False if the task is not wanted first."""
        while not self._ready:
            line = self._line(warden, task, until_unwanted=True)
            if line is None and task is not None and task.unwanted:
                return False
            if line is None:
                raise BenthamError(f"the process that watches trials {_how_ended(warden)}")
            self._ready = "ready" in json.loads(line)
        return True

    def _line(
        self, warden: "subprocess.Popen[bytes]", task: Task | None, until_unwanted: bool = False
    ) -> bytes | None:
        """The next line of its answers, None at their end; a warden beyond the deadline is ended.

        The deadline is watched here, so that it holds whether or not anybody asks for the trial.
        """
        assert warden.stdout is not None
        pipe = warden.stdout.fileno()
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        while b"\n" not in self._said:
            if task is not None and until_unwanted and task.unwanted:
                return None
            deadline = None if task is None else task.deadline
            if deadline is not None and time.monotonic() > deadline:
                warden.kill()  # and so all that it runs; the next trial has another
            if poller.poll(1e3 * LOOK_SECONDS):
                piece = os.read(pipe, CHUNK)
                if not piece:
                    return None
                self._said += piece
        line, _, self._said = self._said.partition(b"\n")
        return line

    def _send(self, order: Order) -> bool:
        """Tell the warden; False when it is gone."""
        with self._sending:
            warden = self._warden
            if warden is None or warden.stdin is None or warden.stdin.closed:
                return False
            try:
                warden.stdin.write(json.dumps(order).encode() + b"\n")
                warden.stdin.flush()
            except OSError:
                return False
            return True

    def _reap(self) -> None:
        if self._warden is not None:
            with self._sending:
                for pipe in (self._warden.stdin, self._warden.stdout):
                    if pipe is not None:
                        with suppress(OSError):  # there was something left to say
                            pipe.close()
            self._warden.wait()


def _how_ended(warden: "subprocess.Popen[bytes]") -> str:
    code = warden.wait()
    if code >= 0:
        return f"ended (exit status {code})"
    try:
        return f"ended (killed by {signal.Signals(-code).name})"
    except ValueError:
        return f"ended (killed by signal {-code})"
