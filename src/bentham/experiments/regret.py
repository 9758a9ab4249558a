"""`bentham bench regret`: the regret of policies and priors under the paper's protocol.

For every seed, 8 studies of a table are drawn as history and the others are served. All variants
get the same split, so ratios are taken seed by seed. A ratio is reported as the geometric mean over
seeds with a 95 % interval (Student's t on the logarithms).
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from bentham.errors import InvalidInput
from bentham.experiments.process_pool import run_in_pool
from bentham.experiments.variants import DEFAULT_VARIANTS, VARIANTS, holdout, possible, serve
from bentham.sim.experiment import DEFAULT_HOLDOUT
from bentham.tables import Table, load_table
from bentham.wording import choose

DEFAULT_TABLES = ("synthetic", "oboe:8", "oboe:40")
LEVELS = (0.03, 0.01)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Cell:
    """One planned run."""

    table: str
    devices: int
    variant: str
    seed: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """The cumulative regret of a run, and its time to each of LEVELS (None: not reached)."""

    regret: float
    time_to: tuple[float | None, ...]


def bench_regret(
    tables: Sequence[str] = DEFAULT_TABLES,
    devices: Sequence[int] = (1, 8),
    repeat: int = 5,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    seed: int = 0,
    jobs: int | None = None,
    expect: Callable[[int], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run every variant on every table with every number of devices, `repeat` times.

    `expect` receives the number of runs, `progress` a description of each finished run.
    """
    variants = list(dict.fromkeys(variants))
    for name in variants:
        if name not in VARIANTS:
            raise InvalidInput(f"unknown variant {name!r}; {choose(name, VARIANTS)}")
    loaded = {name: load_table(name) for name in dict.fromkeys(tables)}
    for table in loaded.values():
        _check_size(table)
    skipped = [
        {"table": name, "variant": variant, "needs": VARIANTS[variant].needs}
        for name, variant in itertools.product(loaded, variants)
        if not possible(loaded[name], VARIANTS[variant])
    ]
    if len(skipped) == len(loaded) * len(variants):
        raise InvalidInput(
            f"none of {', '.join(variants)} can be run: they need {skipped[0]['needs']}, which "
            f"{', '.join(loaded)} lacks; choose other variants, or the table synthetic"
        )
    cells = [
        Cell(table, count, variant, seed + number)
        for table, count, variant, number in itertools.product(
            loaded, dict.fromkeys(devices), plan(variants), range(repeat)
        )
        if possible(loaded[table], VARIANTS[variant])
    ]
    if expect is not None:
        expect(len(cells))
    measured = dict(_run_all(cells, loaded, jobs, progress))
    results = [
        _summary(table, count, variant, cells, measured)
        for table, count, variant in itertools.product(loaded, dict.fromkeys(devices), variants)
        if possible(loaded[table], VARIANTS[variant])
    ]
    return {
        "benchmark": "regret",
        "tables": list(loaded),
        "devices": list(dict.fromkeys(devices)),
        "repeat": repeat,
        "seed": seed,
        "holdout": DEFAULT_HOLDOUT,
        "variants": {name: VARIANTS[name].help for name in variants},
        "skipped": skipped,
        "cells": results,
        "geometric_mean": _overall(results, variants),
    }


def plan(variants: Sequence[str]) -> list[str]:
    """Return the variants to run: those requested, and the two that all are compared with."""
    return list(dict.fromkeys(["paper", "oracle", *variants]))


def _check_size(table: Table) -> None:
    """Reject a table with too few complete studies for the paper's prior, or none to serve."""
    complete = int(np.isfinite(table.scores).all(axis=1).sum())
    history = holdout(table)
    if history < 2 or complete < history:
        raise InvalidInput(
            f"{table.name} has {len(table.studies)} studies, {complete} of which list every model; "
            f"this benchmark needs 3 studies or more, and up to {DEFAULT_HOLDOUT} complete ones "
            "for the history: add studies, or leave out models that few of them list"
        )


_TABLES: dict[str, Table] = {}  # set in each process of the pool


def _begin(tables: dict[str, Table]) -> None:
    _TABLES.update(tables)


def _run_cell(cell: Cell) -> RunResult:
    return run_cell(_TABLES[cell.table], cell)


def run_cell(table: Table, cell: Cell) -> RunResult:
    """Run one cell."""
    regret = serve(table, cell.variant, cell.devices, cell.seed).regret
    return RunResult(regret.cumulative, tuple(regret.time_to(level) for level in LEVELS))


def _run_all(
    cells: list[Cell],
    tables: dict[str, Table],
    jobs: int | None,
    progress: Callable[[str], None] | None,
) -> Iterable[tuple[Cell, RunResult]]:
    # Longest first, so that no process is left with a long run at the end.
    order = sorted(cells, key=lambda cell: -tables[cell.table].scores.size)
    for cell, measured in run_in_pool(_run_cell, order, jobs, _begin, tables):
        if progress is not None:
            progress(f"{cell.table}, {cell.variant}, {cell.devices} devices")
        yield cell, measured


def _summary(
    table: str,
    devices: int,
    variant: str,
    cells: list[Cell],
    measured: dict[Cell, RunResult],
) -> dict[str, Any]:
    seeds = sorted({cell.seed for cell in cells})

    def runs(name: str) -> list[RunResult]:
        return [measured[Cell(table, devices, name, seed)] for seed in seeds]

    measurements = runs(variant)
    summary: dict[str, Any] = {
        "table": table,
        "devices": devices,
        "variant": variant,
        "regret": float(np.mean([run.regret for run in measurements])),
    }
    for reference in ("paper", "oracle"):
        others = runs(reference)
        pairs = [
            (run.regret, other.regret) for run, other in zip(measurements, others, strict=True)
        ]
        summary[f"to_{reference}"] = interval(_logs(pairs))
        for place, level in enumerate(LEVELS):
            times = [
                (run.time_to[place], other.time_to[place])
                for run, other in zip(measurements, others, strict=True)
            ]
            summary[f"time_to_{level:g}_to_{reference}"] = interval(_logs(times))
    return summary


def _logs(pairs: Iterable[tuple[float | None, float | None]]) -> list[float]:
    """Return the log ratios of the pairs in which both values are known and not zero."""
    return [math.log(one / other) for one, other in pairs if one and other and one / other > 0.0]


def interval(logs: Sequence[float]) -> dict[str, float | int | None]:
    """Return the geometric mean of ratios and its interval; None where there are too few runs."""
    if not logs:
        return {"ratio": None, "low": None, "high": None, "runs": 0}
    centre = float(np.mean(logs))
    if len(logs) == 1:
        return {"ratio": math.exp(centre), "low": None, "high": None, "runs": 1}
    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    margin = float(stdtrit(len(logs) - 1, (1.0 + CONFIDENCE) / 2.0)) * error
    return {
        "ratio": math.exp(centre),
        "low": math.exp(centre - margin),
        "high": math.exp(centre + margin),
        "runs": len(logs),
    }


def _overall(results: Sequence[dict[str, Any]], variants: Sequence[str]) -> dict[str, Any]:
    """Return, per variant, the geometric mean and the worst of its cells' ratios."""
    overall: dict[str, Any] = {}
    for name in variants:
        cells = [result for result in results if result["variant"] == name]
        overall[name] = {}
        for key in [key for key in cells[0] if "to_" in key] if cells else []:
            ratios = [cell[key]["ratio"] for cell in cells if cell[key]["ratio"] is not None]
            if ratios:
                overall[name][key] = {
                    "ratio": math.exp(float(np.mean(np.log(ratios)))),
                    "worst": max(ratios),
                    "cells": len(ratios),
                }
    return overall
