"""Benchmark of the service when many studies over data are submitted at once, while devices train.

Runs a real `bentham serve`, a real `bentham worker` whose devices train models, and tenants that
each upload a table, submit all their studies at the same moment, and then poll them. Reports
request times and the server's memory.
"""

import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bentham import __version__
from bentham.bench.connection import BareConnection
from bentham.bench.service import Progress, done, server
from bentham.errors import BenthamError, InvalidInput
from bentham.subprocesses import end, own_environment

ROWS = 500
STARTS_WITHIN = 60.0  # seconds, for all tenants' threads
PAUSE = 0.5  # seconds between a tenant's polls, on average
SAMPLE = 1.0  # seconds between samples of memory


def bench_intake(
    tenants: int,
    studies: int,
    candidates: int,
    devices: int,
    seconds: float,
    database: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """Measure request times while the studies arrive, and the server's memory over time."""
    if studies < tenants:
        raise InvalidInput(
            f"{tenants:,} tenants cannot share {studies:,} studies: some would have none; give at "
            "least as many --studies as --tenants"
        )
    with tempfile.TemporaryDirectory(prefix="bentham-bench-") as name:
        folder = Path(name)
        progress("starting the server")
        with server(folder, database, []) as running:
            clients = _Tenants(running.port, running.token, tenants, studies, candidates)
            clients.join(progress)
            with _worker(folder, running.port, running.token, devices):
                memory = _Memory(running.process)
                clients.submit(progress)
                submitted = memory.now()
                clients.poll(seconds, progress, memory)
                trials, at_end = clients.trials(), memory.now()
    return {
        "benchmark": "intake",
        "database": "postgresql" if database else "sqlite",
        "tenants": tenants,
        "studies": studies,
        "candidates": candidates,
        "devices": devices,
        "submitted_seconds": round(clients.submitted_seconds, 2),
        "upload": _times(clients.uploads),
        "create": _times(clients.creations),
        "look": _times(clients.polls),
        "all_p99_ms": _times(clients.creations + clients.polls)["p99_ms"],
        "trials": trials,
        "memory_submitted_mib": round(submitted, 1),
        "memory_middle_mib": round(memory.middle(), 1),
        "memory_end_mib": round(at_end, 1),
        "cores": os.cpu_count(),
        "bentham": __version__,
        "python": platform.python_version(),
    }


class _Tenants:
    """Tenants, each with its own thread and connection."""

    def __init__(self, port: int, admin: str, tenants: int, studies: int, candidates: int):
        self._port, self._admin = port, admin
        self._tenants, self._studies, self._candidates = tenants, studies, candidates
        self._tokens: list[str] = []
        self._datasets: list[str] = []
        self.uploads: list[float] = []
        self.creations: list[float] = []
        self.polls: list[float] = []
        self.submitted_seconds = 0.0

    def join(self, progress: Progress) -> None:
        """Create all tenants and upload a table for each."""
        with closing(BareConnection(self._port, self._admin)) as admin:
            for tenant in range(self._tenants):
                progress(f"uploading tables: {tenant} of {self._tenants}")
                name = f"tenant-{tenant}"
                done(admin.post("/v1/tenants", {"name": name}))
                token = {"role": "tenant", "tenant": name}
                self._tokens.append(done(admin.post("/v1/tokens", token))["secret"])
                with closing(BareConnection(self._port, self._tokens[-1])) as own:
                    began = time.perf_counter()
                    dataset = done(own.upload("/v1/datasets?name=table.csv", _table(tenant)))
                    self.uploads.append(time.perf_counter() - began)
                    self._datasets.append(dataset["id"])

    def submit(self, progress: Progress) -> None:
        """Submit all studies at once."""
        progress("submitting studies")
        barrier = threading.Barrier(self._tenants)

        def work(tenant: int, own: BareConnection) -> None:
            barrier.wait(STARTS_WITHIN)  # with a timeout, in case another tenant has failed
            for study in range(tenant, self._studies, self._tenants):
                data = {
                    "dataset": self._datasets[tenant],
                    "target": "target",
                    "split": {"kind": "folds", "folds": 3, "seed": study},
                }
                body = {"name": f"study-{study}", "data": data, "candidates": self._candidates}
                began = time.perf_counter()
                done(own.post("/v1/studies", body, f"create-{study}"))
                self.creations.append(time.perf_counter() - began)

        began = time.perf_counter()
        self._each(work)
        self.submitted_seconds = time.perf_counter() - began

    def poll(self, seconds: float, progress: Progress, memory: "_Memory") -> None:
        """Let every tenant poll its studies until the time is up."""
        until = time.perf_counter() + seconds
        draw = random.Random(0)
        pages = ("/v1/studies", "/v1/overview", "/v1/trials?limit=50", "/v1/costs")

        def work(tenant: int, own: BareConnection) -> None:
            ids = [each["id"] for each in done(own.get("/v1/studies"))["items"]]
            while time.perf_counter() < until:
                candidates = f"/v1/studies/{draw.choice(ids)}/candidates"
                for path in (*pages, candidates):
                    began = time.perf_counter()
                    done(own.get(path))
                    self.polls.append(time.perf_counter() - began)
                time.sleep(PAUSE * (0.5 + draw.random()))
                if tenant == 0:
                    memory.sample()
                    progress(f"polling: {max(0.0, until - time.perf_counter()):.0f} s left")

        self._each(work)

    def trials(self) -> dict[str, int]:
        """Return the number of trials by state."""
        with closing(BareConnection(self._port, self._admin)) as admin:
            counts: dict[str, int] = {}
            for study in done(admin.get("/v1/studies?limit=1000"))["items"]:
                for state, count in study["trials"].items():
                    counts[state] = counts.get(state, 0) + count
            return counts

    def _each(self, work: Any) -> None:
        failures: list[BaseException] = []

        def run(tenant: int) -> None:
            try:
                with closing(BareConnection(self._port, self._tokens[tenant])) as own:
                    work(tenant, own)
            except BaseException as error:
                failures.append(error)

        threads = [
            threading.Thread(target=run, args=(tenant,), daemon=True)
            for tenant in range(self._tenants)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise BenthamError(f"a tenant failed: {failures[0]}") from failures[0]


class _Memory:
    """The server's memory, in MiB."""

    def __init__(self, process: "subprocess.Popen[bytes]"):
        self._process = process
        self._samples: list[float] = []

    def now(self) -> float:
        """Return the resident set size, as reported by the kernel."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return float("nan")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024.0

    def sample(self) -> None:
        """Record a sample."""
        self._samples.append(self.now())

    def middle(self) -> float:
        """Return the sample from halfway through."""
        return self._samples[len(self._samples) // 2] if self._samples else self.now()


@contextmanager
def _worker(folder: Path, port: int, admin: str, devices: int) -> Iterator[None]:
    with closing(BareConnection(port, admin)) as connection:
        token = done(connection.post("/v1/tokens", {"role": "device"}))["secret"]
    environment = own_environment({"BENTHAM_TOKEN": token})
    command = [sys.executable, "-m", "bentham", "worker", "--server", f"http://127.0.0.1:{port}"]
    options = ["--devices", str(devices), "--folder", str(folder / "worker")]
    with (folder / "worker.log").open("wb") as log:
        worker = subprocess.Popen([*command, *options], env=environment, stdout=log, stderr=log)
    try:
        yield
        if worker.poll() is not None:
            text = (folder / "worker.log").read_text(errors="replace")[-500:]
            raise BenthamError(f"the worker exited: {text.strip()}")
    finally:
        end(worker)


def _table(tenant: int) -> bytes:
    """Return a CSV table of numbers with a target that partly depends on them."""
    draw = np.random.default_rng(tenant)
    inputs = draw.normal(size=(ROWS, 10))
    kind = (inputs[:, :3].sum(axis=1) + draw.normal(size=ROWS) > 0.0).astype(int)
    lines = ["a,b,c,d,e,f,g,h,i,j,target"]
    for row, target in zip(inputs, kind, strict=True):
        lines.append(",".join([*(f"{value:.6g}" for value in row), "yes" if target else "no"]))
    return "\n".join(lines).encode()


def _times(seconds: list[float]) -> dict[str, Any]:
    p50, p99 = 1e3 * np.percentile(seconds, [50, 99])
    longest = 1e3 * max(seconds)
    return {
        "count": len(seconds),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "longest_ms": round(longest, 1),
    }
