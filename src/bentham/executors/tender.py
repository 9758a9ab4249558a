"""The executor's side of one warden: a thread that starts it, gives it trials and reads of them."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

from bentham.executors.channel import Order
from bentham.executors.containment import Hold


class Task(Protocol):
    """A trial to be run, as a tender sees it."""

    unwanted: bool  # whether it was killed, perhaps before it began

    def prepare(self) -> Order | None:
        """Make ready, for as long as it takes; None when there is nothing to run after all."""
        ...

    def heard(self, said: dict[str, Any]) -> None:
        """Take what the warden said: progress, or the end."""
        ...

    def finish(self, reason: str) -> None:
        """All is over; where nothing was heard of an end, this was why."""
        ...


class Tender:
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
        idle: Callable[["Tender"], None],
        ahead: bool = False,
    ):
        self._command = [sys.executable, "-P", "-m", "bentham.executors.warden", "--hold", hold]
        self._command += [f"--preload={module}" for module in preload]
        self._environment, self._idle = dict(environment), idle
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._warden: subprocess.Popen[bytes] | None = None
        self._ready, self._ahead = False, ahead
        self.ready = threading.Event()
        self._sending = threading.Lock()
        threading.Thread(target=self._live, daemon=True, name="tender").start()

    def take(self, task: Task) -> None:
        """Run a task, after those given before."""
        self._tasks.put(task)

    def kill_trial(self) -> None:
        """End the trial that runs; its task hears of the end."""
        self._send({"kill": True})

    def kill_warden(self) -> None:
        """End the warden, and so all that it runs; the next trial has another."""
        if self._warden is not None:
            self._warden.kill()

    def close(self) -> None:
        """End the warden, with what it runs, and the thread."""
        self._tasks.put(None)
        warden = self._warden
        if warden is not None:
            with self._sending:
                assert warden.stdin is not None
                if not warden.stdin.closed:
                    warden.stdin.close()  # it ends its trial first, and then itself

    def wait(self, seconds: float) -> None:
        """Give a closed warden time to end; then kill it, and with it all that it runs."""
        warden = self._warden
        if warden is None:
            return
        try:
            warden.wait(seconds)
        except subprocess.TimeoutExpired:
            warden.kill()
            warden.wait()

    def _live(self) -> None:
        if self._ahead:
            with suppress(OSError):  # then it fails for the first task again, which says so
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
                reason = f"{type(error).__name__}: {error}"
            self._idle(self)  # first: who sees the end may begin the next at once
            task.finish(reason)
        self._reap()

    def _woken(self) -> "subprocess.Popen[bytes]":
        """A warden that lives; it imports what it needs while data is fetched."""
        if self._warden is None or self._warden.poll() is not None:
            self._reap()
            self._warden = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C at the terminal is for the worker
            )
            self._ready = False
        return self._warden

    def _run(self, warden: "subprocess.Popen[bytes]", task: Task, order: Order) -> str:
        """Have a trial run to its end; the answer is why there was none, if there was none."""
        assert warden.stdout is not None
        # Only now the order, which may be long: to kill a trial must never wait for imports.
        self._await_ready(warden)
        self._send(order)
        if task.unwanted:  # it may have been told before there was a trial to kill
            self.kill_trial()
        for line in warden.stdout:
            said = json.loads(line)
            task.heard(said)
            if "ended" in said:
                return ""
        code = warden.wait()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return f"the process that watches trials ended ({how})"

    def _await_ready(self, warden: "subprocess.Popen[bytes]") -> None:
        assert warden.stdout is not None
        self._ready = self._ready or bool(warden.stdout.readline())

    def _send(self, order: Order) -> None:
        warden = self._warden
        if warden is None or warden.stdin is None:
            return
        with self._sending:
            try:
                if not warden.stdin.closed:
                    warden.stdin.write(json.dumps(order).encode() + b"\n")
                    warden.stdin.flush()
            except OSError:  # it is gone: whoever reads of it notices
                pass

    def _reap(self) -> None:
        if self._warden is not None:
            with self._sending:
                for pipe in (self._warden.stdin, self._warden.stdout):
                    if pipe is not None:
                        with suppress(OSError):  # there was something left to say
                            pipe.close()
            self._warden.wait()
