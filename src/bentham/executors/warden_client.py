"""The executor's side of a warden: a thread that starts it, sends orders and reads answers."""

import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

from bentham.errors import BenthamError
from bentham.executors.channel import Order
from bentham.executors.fork_server import ForkServer, Warden

POLL_SECONDS = 0.2  # between checks whether a task must end
CHUNK = 2**16


class Task(Protocol):
    """A trial to run, as a warden client sees it."""

    cancelled: bool  # whether it was killed, perhaps before it started
    deadline: float | None  # if it has not ended by then, the warden is hung

    def prepare(self) -> Order | None:
        """Prepare and return the order; may take long. None if there is nothing to run."""
        ...

    def handle(self, message: dict[str, Any]) -> None:
        """Handle a message from the warden: progress, or the outcome."""
        ...

    def failed(self, error: Exception) -> None:
        """Record the error that prevented it from running."""
        ...

    def finish(self, reason: str) -> None:
        """End the task; `reason` applies if the warden reported no outcome."""
        ...


class WardenClient:
    """Runs one task at a time; `idle` is called when it can take another.

    With `ahead` its warden is started at once, and `ready` is set when no task would wait for it.
    """

    def __init__(
        self,
        forks: ForkServer,
        idle: Callable[["WardenClient"], None],
        ahead: bool = False,
    ):
        self._forks, self._idle = forks, idle
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._warden: Warden | None = None
        self._ready, self._ahead = False, ahead
        self._buffer = b""  # answers of the warden that have not been handled yet
        self._closed = False
        self.ready = threading.Event()
        self._sending = threading.Lock()  # held to write to the warden, start it or close it
        self._thread = threading.Thread(target=self._live, daemon=True, name="warden-client")
        self._thread.start()

    def take(self, task: Task) -> None:
        """Queue a task."""
        self._tasks.put(task)

    def kill_trial(self) -> None:
        """Kill the running trial; its task is notified of the end."""
        self._send({"kill": True})

    def close(self) -> None:
        """End the warden, with its running trial, and the thread."""
        with self._sending:
            self._closed = True
            self._tasks.put(None)
            if self._warden is not None:
                with suppress(OSError):  # it has ended, and unsent orders could not be flushed
                    self._warden.stdin.close()  # the warden ends its trial, then itself

    def wait(self, seconds: float) -> None:
        """Wait for a closed warden to end; after the timeout kill it with everything it runs."""
        self._thread.join(seconds)
        warden = self._warden
        if self._thread.is_alive() and warden is not None:
            warden.kill()
            warden.wait()

    def _live(self) -> None:
        if self._ahead:
            with suppress(Exception):  # the first task will fail the same way and report it
                self._await_ready(self._live_warden())
            self.ready.set()
        while (task := self._tasks.get()) is not None:
            reason = "killed"
            try:
                warden = self._live_warden()
                order = task.prepare()
                if order is not None:
                    reason = self._run(warden, task, order)
            except Exception as error:
                task.failed(error)
            self._idle(self)  # first: a caller that sees the end may start the next trial at once
            task.finish(reason)
        self._reap()

    def _live_warden(self) -> Warden:
        """Return a live warden, starting one if needed; it starts while data is fetched."""
        if self._warden is not None and not self._warden.has_ended():
            return self._warden
        self._reap()
        with self._sending:
            if self._closed:
                raise BenthamError("the worker is shutting down")
            self._ready, self._buffer = False, b""
            self._warden = self._forks.start()
        return self._warden

    def _run(self, warden: Warden, task: Task, order: Order) -> str:
        """Have the warden run a trial to its end; return why there is no outcome, or "".

        Raises if the trial was not started: then the model is not at fault.
        """
        # Send the order only now, since it may be long: a kill must never wait for imports.
        if not self._await_ready(warden, task):
            return "killed"
        if not self._send(order):
            raise BenthamError(f"the process that monitors trials {_how_ended(warden)}")
        if task.cancelled:  # it may have been killed before the order was sent
            self.kill_trial()
        while (line := self._next_line(warden, task)) is not None:
            message = json.loads(line)
            task.handle(message)
            if "ended" in message:
                return ""
        return f"the process that monitors trials {_how_ended(warden)}"

    def _await_ready(self, warden: Warden, task: Task | None = None) -> bool:
        """Wait until it has imported what trials need; False if the task is killed first."""
        while not self._ready:
            line = self._next_line(warden, task, until_cancelled=True)
            if line is None and task is not None and task.cancelled:
                return False
            if line is None:
                raise BenthamError(f"the process that monitors trials {_how_ended(warden)}")
            self._ready = "ready" in json.loads(line)
        return True

    def _next_line(
        self, warden: Warden, task: Task | None, until_cancelled: bool = False
    ) -> bytes | None:
        """Return the next line of its answers, None at their end; kill it after the deadline.

        The deadline is checked here, so that it holds even if the trial is never polled.
        """
        pipe = warden.stdout.fileno()
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        while b"\n" not in self._buffer:
            if task is not None and until_cancelled and task.cancelled:
                return None
            deadline = None if task is None else task.deadline
            if deadline is not None and time.monotonic() > deadline:
                warden.kill()  # this ends everything it runs; the next trial gets a new warden
            if poller.poll(1e3 * POLL_SECONDS):
                chunk = os.read(pipe, CHUNK)
                if not chunk:
                    return None
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _send(self, order: Order) -> bool:
        """Send an order to the warden; False if it has ended."""
        with self._sending:
            warden = self._warden
            if warden is None or warden.stdin.closed:
                return False
            try:
                warden.stdin.write(json.dumps(order).encode() + b"\n")
                warden.stdin.flush()
            except OSError:
                return False
            return True

    def _reap(self) -> None:
        if self._warden is not None:
            with self._sending, suppress(OSError):  # unsent orders could not be flushed
                self._warden.stdin.close()
            self._warden.wait()
            self._warden.stdout.close()
            self._warden = None


def _how_ended(warden: Warden) -> str:
    code = warden.wait()
    if code >= 0:
        return f"ended (exit status {code})"
    try:
        return f"ended (killed by {signal.Signals(-code).name})"
    except ValueError:
        return f"ended (killed by signal {-code})"
