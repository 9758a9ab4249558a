"""Benchmark of Optuna's ask and tell on its RDB storage, under conditions that favour Optuna.

Each worker has its own study and suggestions are random, so that only the storage takes time. The
better result counts: that of one worker, or that of as many workers as Bentham has.
"""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODELS = [f"model-{model}" for model in range(50)]


def bench_optuna(
    folder: Path,
    database: str | None,
    seconds: float,
    workers: int,
    progress: Callable[[str], None],
) -> dict[str, Any] | None:
    """Return Optuna's cycles per second, or None if Optuna is not installed."""
    try:
        import optuna
    except ImportError:
        return None
    rates = {}
    for count in (1, workers):
        progress(f"measuring Optuna with {count} workers")
        url = _url(database) if database else f"sqlite:///{folder / f'optuna-{count}.db'}"
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        storage = optuna.storages.RDBStorage(url)
        names = [f"bentham-bench-{time.time_ns()}-{place}" for place in range(count)]
        for name in names:
            optuna.create_study(storage=storage, study_name=name)
        storage.remove_session()
        storage.engine.dispose()
        context = multiprocessing.get_context("spawn")
        with context.Pool(count) as pool:
            done = pool.starmap(_cycles, [(url, name, seconds) for name in names])
        rates[count] = round(sum(done), 1)
    return {"version": optuna.__version__, "by_workers": rates, "best": max(rates.values())}


def _url(database: str) -> str:
    return "postgresql+psycopg://" + database.partition("://")[2]


def _cycles(url: str, name: str, seconds: float) -> float:
    """Return the cycles per second of one worker."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name=name,
        storage=optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": _waiting(url)}),
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        trial = study.ask()
        trial.suggest_categorical("model", MODELS)
        study.tell(trial, 0.5)
        done += 1
    return done / (time.perf_counter() - began)


def _waiting(url: str) -> dict[str, Any]:
    """Make SQLite writers wait for each other instead of failing."""
    return {"timeout": 60} if url.startswith("sqlite") else {}
