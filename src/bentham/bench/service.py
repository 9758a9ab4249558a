"""Benchmark of the live service: durably committed cycles of lease and report per second.

Runs a real `bentham serve` process and eight workers that lease a trial and report a score
immediately, each over its own connection. Optuna's ask and tell is measured in the same run.
"""

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bentham import __version__
from bentham.bench.connection import BareConnection
from bentham.bench.decisions import LENGTH_SCALE
from bentham.bench.rival import bench_optuna
from bentham.core import SharedPrior
from bentham.core.gaussian.kernels import correlation
from bentham.errors import BenthamError
from bentham.subprocesses import own_environment

WORKERS, TENANTS = 8, 10
STARTS_WITHIN = 120.0
Progress = Callable[[str], None]


def bench_service(
    studies: int,
    models: int,
    seconds: float,
    warm_up: int,
    database: str | None,
    fixed: bool,
    rival: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Measure cycles per second with p50 and p99, and Optuna's if it is installed."""
    with tempfile.TemporaryDirectory(prefix="bentham-bench-") as folder:
        progress("starting the server")
        options = _fixed_prior(Path(folder), models) if fixed else []
        with server(Path(folder), database, options) as running:
            _prepare(running.port, running.token, studies, models, progress)
            result = _measure(running.port, running.token, seconds, warm_up, progress)
        optuna = bench_optuna(Path(folder), database, seconds, WORKERS, progress) if rival else None
    return {
        "benchmark": "service",
        "database": "postgresql" if database else "sqlite",
        "studies": studies,
        "models": models,
        "workers": WORKERS,
        "prior": "fixed" if fixed else "learned",
        **result,
        "optuna": optuna,
        "ratio_to_optuna": optuna and round(result["cycles_per_second"] / optuna["best"], 1),
        "cores": os.cpu_count(),
        "bentham": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _fixed_prior(folder: Path, models: int) -> list[str]:
    """Return the options for the paper's setting: a fixed prior and Algorithm 1."""
    names = [f"model-{model}" for model in range(models)]
    features = np.linspace(0.0, 1.0, models)[:, np.newaxis]
    matrix = 0.05 * correlation("matern52", features, LENGTH_SCALE)
    prior = SharedPrior(names, np.full(models, 0.5), matrix, jitter=1e-6)
    (folder / "prior.json").write_text(json.dumps(prior.describe()))
    return ["--prior", str(folder / "prior.json"), "--policy", "mdmt"]


class RunningServer(NamedTuple):
    """A running server: its process, its port and an admin token."""

    process: "subprocess.Popen[bytes]"
    port: int
    token: str


@contextmanager
def server(folder: Path, database: str | None, more: list[str]) -> Iterator[RunningServer]:
    """Run a server for the benchmark until the context exits."""
    environment = own_environment({"OPENBLAS_NUM_THREADS": "1"})
    if database:
        environment["BENTHAM_DATABASE"] = database
    port = _free_port()
    command = [sys.executable, "-m", "bentham", "serve", "--data", str(folder / "data")]
    options = ["--port", str(port), "--rate-limit", "0", "--log-level", "warning", *more]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options], env=environment, stderr=log, stdout=log)
    try:
        until = time.monotonic() + STARTS_WITHIN
        while not _ready(port):
            if process.poll() is not None or time.monotonic() > until:
                text = (folder / "log").read_text(errors="replace")[-500:]
                raise BenthamError(f"the server did not start: {text.strip()}")
            time.sleep(0.05)
        token = folder / "data" / "admin.token"
        if not token.exists():
            raise BenthamError("the database is not empty; use an empty one for the benchmark")
        yield RunningServer(process, port, token.read_text().strip())
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _ready(port: int) -> bool:
    try:
        with closing(BareConnection(port, "")) as connection:
            return connection.get("/readyz").status == 200
    except (OSError, BenthamError):
        return False


def _prepare(port: int, token: str, studies: int, models: int, progress: Progress) -> None:
    draw = random.Random(0)
    with closing(BareConnection(port, token)) as admin:
        for tenant in range(TENANTS):
            done(admin.post("/v1/tenants", {"name": f"tenant-{tenant}"}))
        for study in range(studies):
            costs = {f"model-{model}": draw.uniform(1.0, 10.0) for model in range(models)}
            owner = f"tenant-{study % TENANTS}"
            body = {"name": f"study-{study}", "tenant": owner, "models": costs}
            done(admin.post("/v1/studies", body))
            if study % 50 == 0:
                progress(f"creating studies: {study:,} of {studies:,}")


def done(answer: Any) -> Any:
    """Return the body of a successful response; raise BenthamError on any other status."""
    if answer.status >= 300:
        raise BenthamError(f"the server responded with {answer.status}: {answer.body}")
    return answer.body


def _measure(
    port: int, token: str, seconds: float, warm_up: int, progress: Progress
) -> dict[str, Any]:
    counts = [0] * WORKERS
    timing = threading.Event()
    ending = threading.Event()
    taken: list[list[tuple[float, float]]] = [[] for _ in range(WORKERS)]
    failures: list[BaseException] = []

    def work(place: int) -> None:
        try:
            with closing(BareConnection(port, token)) as connection:
                cycle(place, connection)
        except BaseException as error:
            failures.append(error)

    def cycle(place: int, connection: BareConnection) -> None:
        draw, device = random.Random(place), f"device-{place}"
        done(connection.post("/v1/devices", {"name": device}))
        path = f"/v1/devices/{device}/lease"
        while not ending.is_set():
            key, began = f"{place}-{counts[place]}", time.perf_counter()
            lease = done(connection.post(path, {"wait": 1.0}, f"ask-{key}"))
            leased = time.perf_counter()
            if lease is None:
                raise BenthamError("nothing is left to run; give more studies or models")
            report = {"fence": lease["fence"], "score": draw.random()}
            done(connection.post(f"/v1/trials/{lease['trial']}/complete", report, key))
            counts[place] += 1
            if timing.is_set():
                taken[place].append((leased - began, time.perf_counter() - leased))

    workers = [
        threading.Thread(target=work, args=(place,), daemon=True) for place in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    while sum(counts) < warm_up and not failures:
        progress(f"warming up: {sum(counts):,} of {warm_up:,} cycles")
        time.sleep(0.2)
    timing.set()
    began, before = time.perf_counter(), sum(counts)
    while time.perf_counter() - began < seconds and not failures:
        progress(f"measuring: {time.perf_counter() - began:.0f} of {seconds:.0f} s")
        time.sleep(min(0.2, seconds))
    cycles, elapsed = sum(counts) - before, time.perf_counter() - began
    ending.set()
    for worker in workers:
        worker.join(30)
    if failures:
        raise BenthamError(f"a worker failed: {failures[0]}") from failures[0]
    times = 1e3 * np.array([pair for each in taken for pair in each])
    leases, reports = np.percentile(times, [50, 99], axis=0).T
    return {
        "warm_up_cycles": before,
        "seconds": round(elapsed, 1),
        "cycles": cycles,
        "cycles_per_second": round(cycles / elapsed, 1),
        "lease_p50_ms": round(float(leases[0]), 2),
        "lease_p99_ms": round(float(leases[1]), 2),
        "report_p50_ms": round(float(reports[0]), 2),
        "report_p99_ms": round(float(reports[1]), 2),
    }
