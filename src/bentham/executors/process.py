"""Runs each trial in its own process, with limits, under a warden that leaves nothing behind.

The operator decides what runs: a plan maps each lease to a function or a command. Data is fetched
once and cached by its hash. See `containment` for how the processes of a trial are contained.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from bentham.errors import BenthamError
from bentham.executors.base import (
    LARGEST_LOG,
    LARGEST_MODEL,
    Broken,
    Declined,
    Fitted,
    Outcome,
    Progress,
    Scored,
)
from bentham.executors.capped_log import shortened
from bentham.executors.channel import Order
from bentham.executors.containment import Hold
from bentham.executors.data import DataCache
from bentham.executors.folders import KEPT_LOGS, Folders
from bentham.executors.fork_server import ForkServer
from bentham.executors.limits import MIB, TrialLimits
from bentham.executors.outcomes import cause, outcome_of, readable
from bentham.executors.warden_client import WardenClient
from bentham.wire import Lease

LARGEST_DATA = 20 * 2**30  # maximum size of the data cache, in bytes
MODEL_FILE = "fitted.pyz"  # in the folder of a trial that fits a model
PATIENCE_SECONDS = 10.0  # timeout for a warden to end a trial
WAKE_SECONDS = 120.0  # timeout for a warden to import what it needs
# Environment variables of the worker that trials inherit: never its token or other secrets.
INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH",
          "CUDA_VISIBLE_DEVICES")  # fmt: skip
# One thread per trial: a device is one core, and a single-threaded process is safe to fork.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
     "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "ARROW_IO_THREADS",
     "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"), "1"
) | {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve address space in advance
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A function, given as "package.module:name", that is called with a job and `report`.

    The job is plain JSON. The function may call `report(share, scores)` to report progress. Its
    result has the attributes `score`, `metrics` (by name) and `scores`; or `versions`, if it wrote
    a fitted model to MODEL_FILE in its folder.
    """

    function: str
    job: Any


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments; it prints its score as described in `training.reports`."""

    arguments: tuple[str, ...]


# Maps a lease, and the path where its data will be, to what to run.
Plan: TypeAlias = Callable[[Lease, str], Call | Command | Declined | Broken]
Fetch: TypeAlias = Callable[[Lease], Iterable[bytes]]


class ProcessExecutor:
    """Runs trials in their own processes, any number at a time.

    `fetch` fetches the data of a lease from the server; it is called in threads. `environment` is
    the environment of trials, in addition to a few harmless variables of this process. `preload`
    names modules that are imported once, before any trial. `warn` is called with the full details
    when this machine cannot run a trial; the trial is then released.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        fetch: Fetch,
        limits: TrialLimits | None = None,
        *,
        preload: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        hold: Hold = "namespace",
        largest_data: int = LARGEST_DATA,
        kept_logs: int = KEPT_LOGS,
        warn: Callable[[str], None] = lambda _: None,
    ):
        self.limits = limits or TrialLimits()
        self.folders = Folders(folder.absolute(), kept_logs)
        self.data = DataCache(self.folders.data, largest_data)
        self.fetch, self.warn = fetch, warn
        self.environment = (
            {name: os.environ[name] for name in INHERITED if name in os.environ}
            | ONE_THREAD
            | dict(environment or {})
        )
        self._plan = plan
        self._forks = ForkServer(preload, hold, self.environment)
        self._lock = threading.Lock()
        self._clients: list[WardenClient] = []
        self._idle: list[WardenClient] = []
        self._running: list[ProcessTrial] = []

    def prepare(self, count: int) -> None:
        """Start `count` wardens, and wait until they have imported what trials need.

        Otherwise the imports would add seconds to the measured costs of the first trials, from
        which costs are learned.
        """
        with self._lock:
            started = [self._new_client(ahead=True) for _ in range(count - len(self._clients))]
            self._idle += started
        until = time.monotonic() + WAKE_SECONDS
        for client in started:
            client.ready.wait(max(0.0, until - time.monotonic()))

    def start(self, lease: Lease) -> "ProcessTrial":
        """Start a trial under an idle warden, or under a new one."""
        with self._lock:
            self._running = [trial for trial in self._running if trial.poll() is None]
            client = self._idle.pop() if self._idle else self._new_client()
            trial = ProcessTrial(self, lease, self._plan, client)
            self._running.append(trial)
        client.take(trial)
        return trial

    def slots(self) -> None:
        """Return None: there are as many slots as the worker has devices."""

    def close(self) -> None:
        """End all running trials, and the wardens."""
        with self._lock:
            clients, self._clients, self._idle = self._clients, [], []
        for trial in self._running:
            trial.kill()
        for client in clients:
            client.close()
        until = time.monotonic() + PATIENCE_SECONDS
        for client in clients:
            client.wait(max(0.0, until - time.monotonic()))
        self._forks.close()
        self.folders.close()

    def _new_client(self, ahead: bool = False) -> WardenClient:
        client = WardenClient(self._forks, self._set_idle, ahead)
        self._clients.append(client)
        return client

    def _set_idle(self, client: WardenClient) -> None:
        with self._lock:
            if client in self._clients:
                self._idle.append(client)


class ProcessTrial:
    """A trial of the process executor, updated by the thread of its warden client."""

    def __init__(self, executor: ProcessExecutor, lease: Lease, plan: Plan, client: WardenClient):
        self._executor, self._lease, self._plan, self._client = executor, lease, plan, client
        self._lock = threading.Lock()
        self._outcome: Outcome | None = None
        self._ended: Outcome | None = None  # the outcome until cleanup is done
        self._progress = Progress()
        self._log: Path | None = None
        self._work: Path | None = None
        self.deadline: float | None = None
        self.cancelled = False

    # -- for the worker -------------------------------------------------------------------------

    def poll(self) -> Outcome | None:
        """Return the outcome once cleanup is done; None until then."""
        return self._outcome

    def kill(self) -> None:
        """Kill the trial and everything it started."""
        with self._lock:  # so that this cannot kill the warden's next trial
            if self._outcome is None and not self.cancelled:
                self.cancelled = True
                self.deadline = time.monotonic() + PATIENCE_SECONDS
                self._client.kill_trial()

    def progress(self) -> Progress:
        """Return the progress that it reported last."""
        return self._progress

    def log(self) -> bytes:
        """Return the beginning and end of what it printed."""
        return b"" if self._log is None else shortened(self._log, LARGEST_LOG)

    # -- for the warden client, in its thread ---------------------------------------------------

    def prepare(self) -> Order | None:
        """Determine what to run, create its folder and fetch its data."""
        executor, lease = self._executor, self._lease
        self._work = executor.folders.work()
        data = self._work / f"data.{lease.training.format if lease.training else 'csv'}"
        planned = self._plan(lease, str(data))
        if isinstance(planned, Declined | Broken):
            self._ended = planned
            return None
        if lease.training is not None:
            try:
                executor.data.provide(
                    lease.training, lambda: executor.fetch(lease), data, lambda: self.cancelled
                )
            except Exception as error:
                executor.warn(f"the data of {lease.trial} could not be fetched: {error}")
                reason = str(error) if isinstance(error, BenthamError) else cause(error)
                self._ended = Declined(readable(f"its data could not be fetched: {reason}"))
                return None
        with self._lock:
            if self.cancelled:
                return None
            self.deadline = time.monotonic() + executor.limits.wall_seconds + WAKE_SECONDS
        self._log = executor.folders.log(lease.trial)
        folders = {"HOME": str(self._work), "TMPDIR": str(self._work)}
        order: Order = {
            "work": str(self._work),
            "log": str(self._log),
            "environment": executor.environment | folders,
            "limits": asdict(executor.limits),
        }
        match planned:
            case Call(function, job):
                order["function"], order["job"] = function, job
            case Command(arguments):
                order["command"] = list(arguments)
        return order

    def handle(self, message: dict[str, Any]) -> None:
        """Handle a message from the warden: progress, or the outcome."""
        if "ended" in message:
            self._ended = outcome_of(message["ended"])
        elif "progress" in message:
            share = message["progress"]
            scores = tuple(score for score in message["scores"] if isfinite(score))
            valid = share is not None and 0.0 <= share <= 1.0
            self._progress = Progress(share if valid else None, scores)

    def failed(self, error: Exception) -> None:
        """Record why it could not be run; if the machine is at fault, the trial is declined."""
        self._executor.warn(
            f"{self._lease.trial} could not be run: {type(error).__name__}: {error}"
        )
        reason = readable(f"could not be run: {cause(error)}")
        machine = isinstance(error, OSError | BenthamError | MemoryError)
        self._ended = self._ended or (Declined(reason) if machine else Broken(reason))

    def finish(self, reason: str) -> None:
        """Clean up, then make the outcome available."""
        if isinstance(self._ended, Fitted) and self._work is not None:
            self._ended = _with_content(self._ended, self._work / MODEL_FILE)
        if self._work is not None:
            shutil.rmtree(self._work, ignore_errors=True)
        with self._lock:
            ended = self._ended
            if self.cancelled and not isinstance(ended, Scored | Fitted):
                ended = Broken("killed")
            self._outcome = ended or Broken(readable(reason))


def _with_content(fitted: Fitted, path: Path) -> Outcome:
    """Read the file of a fitted model; a link is not followed, since it may lead anywhere."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            content = file.read(LARGEST_MODEL + 1)
    except OSError as error:
        return Broken(readable(f"the fitted model cannot be read: {cause(error)}"))
    if len(content) > LARGEST_MODEL:
        return Broken(
            f"the fitted model takes more than {LARGEST_MODEL // MIB:,} MiB, the limit; choose a "
            "smaller model, or export the script instead",
            final=True,
        )
    return Fitted(content, fitted.versions)
