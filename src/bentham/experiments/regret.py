"""`bentham bench regret`: how much regret policies and priors have, under the paper's protocol.

For every seed, 8 studies of a table are drawn as history and the others are served, by every
variant alike; so ratios are taken seed by seed. A ratio is reported as a geometric mean over the
seeds with a 95 % interval (Student's t, on the logarithms).
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

DEFAULT_TABLES = ("synthetic", "oboe:8", "oboe:40")
LEVELS = (0.03, 0.01)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Cell:
    """One run to be made."""

    table: str
    devices: int
    variant: str
    seed: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run showed."""

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

    `expect` is told how many runs there will be, `progress` of each that has ended.
    """
    variants = list(dict.fromkeys(variants))
    for name in variants:
        if name not in VARIANTS:
            raise InvalidInput(f"unknown variant {name!r}; choose from {', '.join(VARIANTS)}")
    loaded = {name: load_table(name) for name in dict.fromkeys(tables)}
    for table in loaded.values():
        _refuse_small(table)
    skipped = [
        {"table": name, "variant": variant, "needs": VARIANTS[variant].needs}
        for name, variant in itertools.product(loaded, variants)
        if not possible(loaded[name], VARIANTS[variant])
    ]
    if len(skipped) == len(loaded) * len(variants):
        raise InvalidInput(
            f"none of {', '.join(variants)} can be run: they need {skipped[0]['needs']}, which "
            f"{', '.join(loaded)} lacks; name other variants, or the table synthetic"
        )
    cells = [
        Cell(table, count, variant, seed + turn)
        for table, count, variant, turn in itertools.product(
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
    """The variants to run: those asked for, and those that all are compared with."""
    return list(dict.fromkeys(["paper", "oracle", *variants]))


def _refuse_small(table: Table) -> None:
    """The paper's configuration needs complete studies for its prior, and some left to serve."""
    complete = int(np.isfinite(table.scores).all(axis=1).sum())
    history = holdout(table)
    if history < 2 or complete < history:
        raise InvalidInput(
            f"{table.name} has {len(table.studies)} studies, {complete} of which list every model; "
            f"this benchmark needs 3 studies or more, and up to {DEFAULT_HOLDOUT} complete ones "
            "for the history: add studies, or leave out models that few of them list"
        )


_TABLES: dict[str, Table] = {}  # of a worker process


def _begin(tables: dict[str, Table]) -> None:
    _TABLES.update(tables)


def _run_cell(cell: Cell) -> RunResult:
    return run_cell(_TABLES[cell.table], cell)


def run_cell(table: Table, cell: Cell) -> RunResult:
    """One run."""
    regret = serve(table, cell.variant, cell.devices, cell.seed).regret
    return RunResult(regret.cumulative, tuple(regret.time_to(level) for level in LEVELS))


def _run_all(
    cells: list[Cell],
    tables: dict[str, Table],
    jobs: int | None,
    progress: Callable[[str], None] | None,
) -> Iterable[tuple[Cell, RunResult]]:
    # The long ones first, so that no worker is left with one at the end.
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

    own = runs(variant)
    summary: dict[str, Any] = {
        "table": table,
        "devices": devices,
        "variant": variant,
        "regret": float(np.mean([run.regret for run in own])),
    }
    for reference in ("paper", "oracle"):
        others = runs(reference)
        pairs = [(run.regret, other.regret) for run, other in zip(own, others, strict=True)]
        summary[f"to_{reference}"] = interval(_logs(pairs))
        for place, level in enumerate(LEVELS):
            times = [
                (run.time_to[place], other.time_to[place])
                for run, other in zip(own, others, strict=True)
            ]
            summary[f"time_to_{level:g}_to_{reference}"] = interval(_logs(times))
    return summary


def _logs(pairs: Iterable[tuple[float | None, float | None]]) -> list[float]:
    """Logarithms of ratios, where both were reached and neither is zero."""
    return [math.log(one / other) for one, other in pairs if one and other and one / other > 0.0]


def interval(logs: Sequence[float]) -> dict[str, float | int | None]:
    """The geometric mean of ratios, and its interval; None where there is too little for it."""
    if not logs:
        return {"ratio": None, "low": None, "high": None, "runs": 0}
    centre = float(np.mean(logs))
    if len(logs) == 1:
        return {"ratio": math.exp(centre), "low": None, "high": None, "runs": 1}
    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    reach = float(stdtrit(len(logs) - 1, (1.0 + CONFIDENCE) / 2.0)) * error
    return {
        "ratio": math.exp(centre),
        "low": math.exp(centre - reach),
        "high": math.exp(centre + reach),
        "runs": len(logs),
    }


def _overall(results: Sequence[dict[str, Any]], variants: Sequence[str]) -> dict[str, Any]:
    """Per variant, the geometric mean of its cells, and the worst of them."""
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
