"""The worker's side of a slot of a Ray cluster: a thread that holds the slot and runs its trials.

All calls to Ray are made in such threads, because any of them may block: waiting for a free CPU,
for a node that does not answer, or for a cluster whose head is unreachable.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import count
from queue import SimpleQueue
from typing import Any

from bentham.errors import BenthamError
from bentham.executors.base import Broken, Declined, Fitted, Outcome, Progress, Scored
from bentham.executors.outcomes import cause, readable
from bentham.executors.process import PATIENCE_SECONDS
from bentham.executors.ray_data import ObjectStore
from bentham.executors.ray_host import TrialStatus
from bentham.wire import Lease

WAIT_SECONDS = 0.2  # how long a thread waits for Ray before it checks whether to stop
STATUS_SECONDS = 2.0  # how long a node waits for the end of a trial before it answers


class RayTrial:
    """A trial of the Ray executor, run and updated by its slot's thread."""

    def __init__(self, lease: Lease):
        self.lease = lease
        self.cancelled = False
        self.begun = False  # whether the node has answered
        self._lock = threading.Lock()
        self._outcome: Outcome | None = None
        self._progress = Progress()
        self._log = b""

    def poll(self) -> Outcome | None:
        """Return the outcome once nothing of the trial is left on a live node; else None."""
        return self._outcome

    def kill(self) -> None:
        """Request that the slot's thread kill the trial."""
        self.cancelled = True

    def progress(self) -> Progress:
        """Return the progress that the node reported last."""
        return self._progress

    def log(self) -> bytes:
        """Return what it printed; empty until it has ended."""
        return self._log

    def handle(self, status: TrialStatus) -> None:
        """Handle a status from the node."""
        self.begun = True
        self._progress, self._log = status.progress, status.log
        if status.outcome is not None:
            self.finish(status.outcome)

    def finish(self, outcome: Outcome) -> None:
        """Set the outcome, unless it is already set."""
        with self._lock:
            if self._outcome is None:
                killed = self.cancelled and not isinstance(outcome, Scored | Fitted)
                self._outcome = Broken("killed") if killed else outcome


class Slot:
    """One CPU of a node, held as long as this object lives; a device while it is `ready`.

    `place` creates the actor that holds it; the actor starts once a CPU is free. `over` means that
    the slot no longer exists; `failure` is the reason if it was never ready.
    """

    def __init__(self, name: str, node: str, place: Callable[[], Any], store: ObjectStore):
        self.name, self.node = name, node
        self.ready = self.over = False
        self.since = time.monotonic()
        self.failure = ""
        self.problems: tuple[str, ...] = ()
        self.actor: Any = None
        self._place, self._store = place, store
        self._ray: Any = import_module("ray")
        self._trials: SimpleQueue[RayTrial | None] = SimpleQueue()
        self._numbers = count()
        self._lock = threading.Lock()
        self._lost = ""  # why the node was lost
        self._closing = False
        self._thread = threading.Thread(target=self._live, daemon=True, name=f"slot {name}")
        self._thread.start()

    def take(self, trial: RayTrial) -> None:
        """Queue a trial; it is declined if the slot no longer exists."""
        with self._lock:
            if not self.over:
                self._trials.put(trial)
                return
        trial.finish(Declined(f"the slot {self.name} no longer exists"))

    def lose(self, reason: str) -> None:
        """End without contacting the node, because it was lost."""
        self._lost = self._lost or reason
        self._trials.put(None)

    def close(self) -> None:
        """Kill the running trial, then release the CPU."""
        self._closing = True
        self._trials.put(None)

    def alive(self) -> bool:
        """Whether its thread is still running."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait up to this many seconds for its thread to end."""
        self._thread.join(seconds)

    def _live(self) -> None:
        trial: RayTrial | None = None
        why, broken = "", False
        try:
            actor = self.actor = self._place()
            self.problems = self._answer(actor.ready.remote())
            self.ready = True
            while (trial := self._trials.get()) is not None:
                self._run(actor, trial)
        except _Stopped:
            why = self._lost
        except Exception as error:
            why, broken = self._lost or self._describe(error), True
        if not self.ready:
            self.failure = why
        # Set the outcome first: code that sees `over` must find the outcome.
        if trial is not None:
            reason = readable(why or "the worker ended")
            trial.finish(Broken(reason) if trial.begun else Declined(reason))
        with self._lock:
            self.ready, self.over = False, True
        while not self._trials.empty():
            queued = self._trials.get()
            if queued is not None:
                queued.finish(Declined(f"the slot {self.name} no longer exists"))
        if self.actor is not None:
            self._free(self.actor, broken or bool(self._lost))

    def _run(self, actor: Any, trial: RayTrial) -> None:
        """Have the node run a trial to its end. Raises if the slot cannot run any more trials."""
        lease = trial.lease
        try:
            content = self._store.put(lease, lambda: trial.cancelled or self._stopped())
        except Exception as error:  # from the server or the disk, or Ray's store is full
            reason = str(error) if isinstance(error, BenthamError) else cause(error)
            trial.finish(Declined(readable(f"its data could not be fetched: {reason}")))
            return
        number = next(self._numbers)
        answer = actor.begin.remote(number, lease.model_dump_json(), [content])
        kill_by: float | None = None
        while trial.poll() is None:
            if self._stopped():
                raise _Stopped
            if trial.cancelled and kill_by is None:
                actor.end.remote(number)
                kill_by = time.monotonic() + PATIENCE_SECONDS
            if kill_by is not None and time.monotonic() > kill_by:
                raise TimeoutError("the node did not end a trial that was killed")
            if self._ray.wait([answer], timeout=WAIT_SECONDS)[0]:
                trial.handle(self._ray.get(answer))
                answer = actor.status.remote(STATUS_SECONDS) if trial.poll() is None else None

    def _answer(self, reference: Any) -> Any:
        """Wait for an answer; raises if the slot has to stop first."""
        while not self._ray.wait([reference], timeout=WAIT_SECONDS)[0]:
            if self._stopped():
                raise _Stopped
        return self._ray.get(reference)

    def _stopped(self) -> bool:
        return self._closing or bool(self._lost)

    def _free(self, actor: Any, broken: bool) -> None:
        """Have the actor clean up, unless it is broken, and kill it."""
        with suppress(Exception):
            if not broken:
                self._ray.wait([actor.close.remote()], timeout=PATIENCE_SECONDS)
        with suppress(Exception):
            self._ray.kill(actor)

    def _describe(self, error: Exception) -> str:
        """Describe an error without the stack traces that Ray adds to it."""
        if isinstance(error, self._ray.exceptions.RayActorError) and self.ready:
            # It often takes several more seconds until it is known which of the two died.
            return f"the {self.node} died, or the process that held the slot there"
        cause = getattr(error, "cause", None) or error
        text = " ".join(str(cause).split())
        return text if isinstance(cause, BenthamError) else f"{type(cause).__name__}: {text}"


class _Stopped(Exception):
    """The slot has to stop."""
