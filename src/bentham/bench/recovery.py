"""Benchmark of a restart: from the whole log, and from a snapshot and the events after it.

The log is generated: studies, leases and reports, with decisions drawn at random instead of made by
a policy. Applying an event takes the same time either way.
"""

import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bentham import __version__
from bentham.core import Decision, Gain, Reason
from bentham.errors import InvalidInput
from bentham.service import SNAPSHOT_EVENTS, Pool, apply, events, picture, recover, save_snapshot
from bentham.storage import EventLog, Record, open_log

MODELS, TENANTS, DEVICES = 50, 20, 8
BATCH = 1000
MOST_BELIEFS = 500
IDLE = "device-idle"


def bench_recovery(
    count: int, database: str | None, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure the seconds to replay the whole log, and to start from its last snapshot."""
    with tempfile.TemporaryDirectory(prefix="bentham-bench-") as folder:
        log = open_log(database, Path(folder))
        if log.head():
            log.close()
            raise InvalidInput("the database is not empty; use an empty one for the benchmark")
        log.lead()
        try:
            return _measured(log, count, progress)
        finally:
            log.close()


def _measured(log: EventLog, count: int, progress: Callable[[str], None]) -> dict[str, Any]:
    records = islice(_records(count), count)
    tail = min(SNAPSHOT_EVENTS, count // 2)
    written = 0
    while batch := list(islice(records, BATCH)):
        log.append(batch)
        written += len(batch)
        progress(f"writing {written:,} of {count:,} events")
    began = time.perf_counter()
    pool, saved, size = Pool(), 0.0, 0
    for record in log.read():
        event = events.decode(record.kind, record.version, record.body)
        apply(pool, record.sequence, record.time, event, record.actor, record.key)
        if record.sequence % 1000 == 0:
            progress(f"reading {record.sequence:,} of {written:,} events")
        if record.sequence == written - tail:
            saving = time.perf_counter()
            size = save_snapshot(log, pool)
            saved = time.perf_counter() - saving
    read = time.perf_counter() - began - saved
    progress("starting from the snapshot")
    began = time.perf_counter()
    restarted = recover(log)
    started = time.perf_counter() - began
    began = time.perf_counter()
    first = restarted.scheduler.decide(IDLE)
    decided = time.perf_counter() - began
    progress("comparing")
    same_state = picture(restarted, MOST_BELIEFS) == picture(pool, MOST_BELIEFS)
    equal = same_state and first == pool.scheduler.decide(IDLE)
    return {
        "benchmark": "recovery",
        "events": written,
        "studies": len(pool.studies),
        "models": MODELS,
        "trials": len(pool.trials),
        "replay_seconds": round(read, 1),
        "replay_us_per_event": round(1e6 * read / written, 1),
        "tail_events": tail,
        "snapshot_mib": round(size / 2**20, 1),
        "snapshot_save_seconds": round(saved, 1),
        "snapshot_start_seconds": round(started, 1),
        "first_decision_seconds": round(decided, 1),
        "equal": equal,
        "bentham": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _records(count: int) -> Iterator[Record]:
    """Yield the records of a log of `count` events or a few more."""
    for sequence, (time_, event) in enumerate(_history(count), start=1):
        owner = _owner(event)
        yield Record(
            sequence, time_, events.kind_of(event), events.VERSION, "server", "", owner, "",
            events.encode(event),
        )  # fmt: skip


def _owner(event: events.Event) -> str:
    return event.tenant if isinstance(event, events.StudyCreated) else ""


def _history(count: int) -> Iterator[tuple[float, events.Event]]:
    draw, now = random.Random(0), 1.7e9
    yield now, events.PoolCreated("joint", "none", 0, 3, 1.0)
    for place in range(TENANTS):
        yield now, events.TenantCreated(f"tenant-{place}", 1.0, {})
    for name in (IDLE, *(f"device-{place}" for place in range(DEVICES))):
        yield now, events.DeviceRegistered(name, "cpu", "token")
    studies = -(-count // (2 * MODELS)) + 1
    arms: list[tuple[str, str, str, float]] = []
    for study in range(studies):
        costs: dict[str, float | None] = {
            f"model-{model}": draw.uniform(1.0, 10.0) for model in range(MODELS)
        }
        name, tenant = f"s_{study:016x}", f"tenant-{study % TENANTS}"
        yield (
            now,
            events.StudyCreated(name, tenant, name, name, "score", costs, 1.0, 0.0, None, None, {}),
        )
        arms += [(name, f"{tenant}/{name}", model, cost or 1.0) for model, cost in costs.items()]
    draw.shuffle(arms)
    running: list[tuple[str, float]] = []
    for trial, (study_name, dataset, model, cost) in enumerate(arms):
        device = f"device-{trial % DEVICES}"
        if len(running) == DEVICES:
            ended, score = running.pop(0)
            now += 1.0
            yield now, events.TrialCompleted(ended, score)
        decision = Decision(
            trial, device, study_name, dataset, model, Reason.POLICY, 0.1, cost,
            (Gain(study_name, 0.1),), 0.1, 0.1 / cost, (),
        )  # fmt: skip
        yield now, events.TrialLeased(f"t_{trial:016x}", decision, 1)
        running.append((f"t_{trial:016x}", draw.random()))
