"""The node's side of a slot of a Ray cluster: an actor that runs one trial at a time.

It drives the process executor, so a trial on Ray has the same warden and the same limits, and ends
the same way. Ray is imported here only when an actor fetches its data.
"""

import hashlib
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from bentham.errors import InvalidInput
from bentham.executors.base import Outcome, Progress
from bentham.executors.launch import PRELOAD, CatalogPlan
from bentham.executors.limits import TrialLimits
from bentham.executors.process import ProcessExecutor, ProcessTrial
from bentham.wire import Lease

POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of every node: its folder, and the limits and environment of trials.

    `algorithms` is the text of the operator's file of commands. The programs that it names are in
    the folder `programs`, on every node.
    """

    folder: str
    limits: TrialLimits = field(default_factory=TrialLimits)
    environment: Mapping[str, str] = field(default_factory=dict)
    algorithms: str | None = None
    programs: str | None = None


def make_setup(
    folder: Path, limits: TrialLimits, environment: Mapping[str, str], algorithms: Path | None
) -> Setup:
    """Return the setup for the nodes; raises if the file of commands is invalid."""
    if algorithms is None:
        return Setup(str(folder.absolute()), limits, environment)
    CatalogPlan(algorithms)
    file = algorithms.absolute()
    text = file.read_text(encoding="utf-8")
    return Setup(str(folder.absolute()), limits, environment, text, str(file.parent))


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """The status of a trial; includes the log once it has ended."""

    outcome: Outcome | None
    progress: Progress
    log: bytes = b""


class SlotHost:
    """The actor of a slot: Ray creates it on the slot's node and calls it from several threads.

    This way, `end` need not wait for `status`. But calls may overtake each other. Therefore each
    trial has a number, by which it can be ended even before it has started.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self._executor: ProcessExecutor | None = None
        self._lock = threading.Lock()
        self._trial: ProcessTrial | None = None
        self._number = self._ended = -1
        self._content: Any = None  # a reference to the data in Ray's object store

    def ready(self) -> tuple[str, ...]:
        """Prepare to run trials; return problems of algorithms left out. Raises if it cannot."""
        setup, folder = self._setup, Path(self._setup.folder)
        plan = CatalogPlan(
            None if setup.algorithms is None else _write_shared(folder, setup.algorithms),
            None if setup.programs is None else Path(setup.programs),
        )
        self._executor = ProcessExecutor(
            folder,
            plan,
            self._fetch,
            setup.limits,
            preload=PRELOAD,
            environment=setup.environment,
            warn=lambda text: print(text, file=sys.stderr),  # to Ray's logs on the node
        )
        return plan.problems

    def begin(self, number: int, lease: str, content: list[Any]) -> TrialStatus:
        """Start a trial. Its data reference is in a list so that Ray does not resolve it."""
        assert self._executor is not None
        with self._lock:
            self._content, self._number = content[0], number
            self._trial = self._executor.start(Lease.model_validate_json(lease))
            if self._ended == number:
                self._trial.kill()
        return self.status(0.0)

    def status(self, seconds: float) -> TrialStatus:
        """Return the trial's status after this many seconds, or earlier if it ends."""
        trial = self._trial
        assert trial is not None
        until = time.monotonic() + seconds
        while (outcome := trial.poll()) is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        if outcome is None:
            return TrialStatus(None, trial.progress())
        self._content = None
        return TrialStatus(outcome, trial.progress(), trial.log())

    def end(self, number: int) -> None:
        """Kill a trial, unless it has ended."""
        with self._lock:
            self._ended = number
            if self._trial is not None and self._number == number:
                self._trial.kill()

    def close(self) -> None:
        """Kill the running trial, and clean up."""
        if self._executor is not None:
            self._executor.close()

    def _fetch(self, _lease: Lease) -> list[bytes]:
        return [import_module("ray").get(self._content)]


def _write_shared(folder: Path, text: str) -> Path:
    """Write the text to a file that all slots of a node share, and return its path."""
    content = text.encode()
    path = folder / f"algorithms-{hashlib.sha256(content).hexdigest()[:16]}.toml"
    part = path.with_suffix(f".{uuid4().hex}.part")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_bytes(content)
        part.rename(path)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be used for data and logs ({error.strerror}); name another folder "
            "with --folder"
        ) from None
    return path
