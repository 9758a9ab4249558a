"""A process executor for tests: its trials are the functions of `misbehaving`, or commands."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from bentham.executors import Call, Command, Outcome, ProcessExecutor, TrialLimits
from bentham.executors.base import Broken, Declined
from bentham.executors.containment import Hold
from bentham.executors.process import ProcessTrial
from bentham.wire import Lease
from support.executor_contract import lease
from support.misbehaving import marked_processes
from support.paths import TESTS

MIB = 2**20
LIMITS = TrialLimits(
    memory=256 * MIB, cpu_seconds=60.0, wall_seconds=60.0, processes=20, file_bytes=8 * MIB
)
CONTENT = b"a,b\n1,2\n"


def training(content: bytes = CONTENT, **changes: object) -> dict[str, Any]:
    """The training part of a lease."""
    return {
        "dataset": "d_1", "name": "small", "hash": hashlib.sha256(content).hexdigest(),
        "format": "csv", "delimiter": ",", "bytes": len(content), "target": "b",
        "task": "classification", "metric": "accuracy", "classes": 2, "columns": {"a": "number"},
        "split": {"kind": "folds", "folds": 5, "share": 0.25, "seed": 0}, **changes,
    }  # fmt: skip


class Bench:
    """An executor, the jobs and data of its trials, and all processes that it started."""

    def __init__(self, folder: Path, hold: Hold = "namespace", **options: Any):
        self.marker = f"BENTHAM_TEST={uuid4().hex}"
        self.jobs: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, tuple[str, ...]] = {}
        self.content: list[bytes] = [CONTENT]
        self.fetched = 0
        name, _, value = self.marker.partition("=")
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        self.executor = ProcessExecutor(
            folder, self.plan, self.fetch, LIMITS, hold=hold,
            environment={name: value, "PYTHONPATH": path}, **options,
        )  # fmt: skip

    def plan(self, lease: Lease, data: str) -> Call | Command | Declined | Broken:
        if lease.model in self.commands:
            return Command(self.commands[lease.model])
        if lease.model == "unknown":
            return Declined("the algorithm 'unknown' is not installed here")
        return Call(
            f"support.misbehaving:{lease.model}", {**self.jobs.get(lease.model, {}), "data": data}
        )

    def fetch(self, lease: Lease) -> Iterator[bytes]:
        del lease
        self.fetched += 1
        yield from self.content

    def start(self, model: str, job: dict[str, Any] | None = None, **changes: Any) -> ProcessTrial:
        self.jobs[model] = job or {}
        return self.executor.start(lease(model, **changes))

    def run(
        self,
        model: str,
        job: dict[str, Any] | None = None,
        limits: dict[str, Any] | None = None,
        **changes: Any,
    ) -> tuple[Outcome, str]:
        """Run a trial; return its outcome and its log."""
        self.executor.limits = replace(LIMITS, **(limits or {}))
        running = self.start(model, job, **changes)
        outcome = ended(running)
        self.executor.limits = LIMITS
        return outcome, running.log().decode(errors="replace")

    def processes(self) -> set[int]:
        return set(marked_processes(self.marker))


def ended(running: ProcessTrial) -> Outcome:
    """Wait until a trial has ended; return its outcome."""
    wait_for(lambda: running.poll() is not None, 60.0)
    outcome = running.poll()
    assert outcome is not None
    return outcome


def wait_for(condition: Any, seconds: float = 30.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.005)


@contextmanager
def bench(folder: Path, hold: Hold = "namespace", **options: Any) -> Iterator[Bench]:
    """A bench; at the end, wait until none of its processes is left."""
    opened = Bench(folder, hold, **options)
    try:
        yield opened
    finally:
        opened.executor.close()
        wait_for(lambda: not opened.processes())
