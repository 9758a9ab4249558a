"""Benchmark of decision times: pairs of tell and ask on one core."""

import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from bentham import __version__
from bentham.core import Decision, Scheduler, SharedPrior
from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.validation import Matrix

DEVICES = 8
LENGTH_SCALE = 0.2
OBSERVATIONS_PER_STUDY = 10
WARM_UP_STUDIES, WARM_UP_PAIRS = 100, 3000


def bench_decisions(
    studies: int,
    models: int,
    observations: int | None = None,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
    learned: bool = False,
) -> dict[str, Any]:
    """Time tell+ask pairs on one core: `mdmt` with a fixed prior, or the defaults with learning.

    Each study is a draw of a Matern 5/2 process over its models, with its own costs; eight devices
    are always busy. A pair tells the score of the oldest trial and asks for the next one. There is
    no warm start, so the policy makes every decision.
    """
    arms = studies * models
    count = min(OBSERVATIONS_PER_STUDY * studies, arms) if observations is None else observations
    _stay_on_one_core()
    # Warm up first: a process is slow for its first tenth of a second.
    _timed_pairs(*_prepare(WARM_UP_STUDIES, models, seed, learned), WARM_UP_PAIRS)
    began = time.perf_counter()
    scheduler, scores = _prepare(studies, models, seed, learned)
    prepared = time.perf_counter() - began
    taken = _timed_pairs(scheduler, scores, min(count, arms), progress)
    microseconds = np.array(taken) / 1e3
    p50, p99 = np.percentile(microseconds, [50, 99])
    return {
        "benchmark": "decisions",
        "studies": studies,
        "models": models,
        "observations": len(taken),
        "prior": "learned" if learned else "fixed",
        "p50_us": round(float(p50), 1),
        "p99_us": round(float(p99), 1),
        "max_us": round(float(microseconds.max()), 1),
        "mean_us": round(float(microseconds.mean()), 1),
        "prepare_seconds": round(prepared, 3),
        "peak_memory_mib": round(_peak_memory_mib(), 1),
        "bentham": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _timed_pairs(
    scheduler: Scheduler,
    scores: Matrix,
    count: int,
    progress: Callable[[], None] | None = None,
) -> list[int]:
    """Return the nanoseconds of each of `count` pairs, or of fewer if the arms run out."""
    running: deque[Decision] = deque()
    for device in range(DEVICES):
        scheduler.add_device(device)
        decision = scheduler.ask(device)
        if decision is not None:
            running.append(decision)
    taken: list[int] = []
    while running and len(taken) < count:
        ended = running.popleft()
        score = float(scores[int(ended.study), int(ended.model)])
        start = time.perf_counter_ns()
        scheduler.tell(ended.trial, score)
        decision = scheduler.ask(ended.device)
        taken.append(time.perf_counter_ns() - start)
        if decision is not None:
            running.append(decision)
        if progress is not None:
            progress()
    return taken


def _prepare(studies: int, models: int, seed: int, learned: bool) -> tuple[Scheduler, Matrix]:
    rng = np.random.default_rng(seed)
    features = np.linspace(0.0, 1.0, models)[:, np.newaxis]
    matrix = correlation("matern52", features, LENGTH_SCALE)
    names = [str(model) for model in range(models)]
    fixed = SharedPrior(names, np.zeros(models), matrix, jitter=1e-6)
    scheduler = Scheduler() if learned else Scheduler(fixed, warm_start="none")
    root = np.linalg.cholesky(matrix + 1e-6 * np.eye(models))
    scores = rng.standard_normal((studies, models)) @ root.T
    for study in range(studies):
        costs = rng.uniform(1.0, 10.0, models).tolist()
        scheduler.add_study(str(study), dict(zip(names, costs, strict=True)))
    return scheduler, scores


def _stay_on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _peak_memory_mib() -> float:
    import resource  # not available on Windows, where the rest works

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
