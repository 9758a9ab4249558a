"""`bentham bench regret`: how much regret policies and priors have, under the paper's protocol.

For every seed, 8 studies of a table are drawn as history and the others are served, by every
variant alike; so ratios are taken seed by seed. A ratio is reported as a geometric mean over the
seeds with a 95 % interval (Student's t, on the logarithms).
"""

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.stats import t as student

from bentham.core import DEFAULT_JITTER, LearnedPrior, PolicyMaker, Prior, SharedPrior
from bentham.core.kernels import correlation
from bentham.errors import InvalidInput
from bentham.experiments.rival import Alone
from bentham.sim.experiment import DEFAULT_HOLDOUT, Experiment
from bentham.sim.simulator import Disturbances, simulate
from bentham.tables import Table, load_table
from bentham.tables.synthetic import LENGTH_SCALE

DEFAULT_TABLES = ("synthetic", "oboe:8", "oboe:40")
LEVELS = (0.03, 0.01)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to serve a table; `told` and `alone` need features of the models."""

    help: str
    policy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: bool = True
    features: bool = True
    needs: str = ""


PAPER = {"prior": "sample"}
VARIANTS: dict[str, Variant] = {
    "paper": Variant("MM-GP-EI, sample covariance, two fastest models first", "mdmt", PAPER),
    "default": Variant("what Bentham does unless told otherwise"),
    "oracle": Variant("knows every score", "oracle"),
    "oracle-warm": Variant("the oracle, two fastest models first as in the paper", "oracle", PAPER),
    "round-robin": Variant("studies in turn, with the paper's prior", "round-robin", PAPER),
    "alone": Variant("one GP per study, EI per cost, studies in turn", needs="features"),
    "told": Variant("MM-GP-EI that is told the true prior", "mdmt", needs="synthetic"),
    "no-features": Variant("the default, blind to features of models", features=False),
    "no-history": Variant("the default, without history", history=False),
    "no-running": Variant("the default, but running trials do not count", "mdmt"),
    "fastest-first": Variant("after two fastest models", None, {"warm_start": "fastest:2"}),
    "no-serving": Variant("learned from history alone", None, {"switched_off": ("serving",)}),
    "no-warp": Variant("scores are not bent", None, {"switched_off": ("warp",)}),
    "no-scales": Variant("studies have one scale", None, {"switched_off": ("scales",)}),
    "no-strengths": Variant("strengths are set by hand", None, {"switched_off": ("strengths",)}),
    "cost-error-2": Variant(
        "costs are misjudged by up to 2", None, {"disturbances": Disturbances(cost_error=2.0)}
    ),
    "cost-error-2-trusted": Variant(
        "the same, and costs are not corrected",
        None,
        {"disturbances": Disturbances(cost_error=2.0), "correct_costs": False},
    ),
    "costs-learned": Variant("costs are learned, with history", None, {"costs": "learned"}),
    "costs-unknown": Variant(
        "costs are learned from nothing", None, {"costs": "learned-from-nothing"}
    ),
    "exponent-0.8": Variant("cost counts less", None, {"cost_exponent": 0.8}),
    "exponent-1.2": Variant("cost counts more", None, {"cost_exponent": 1.2}),
}  # fmt: skip
DEFAULT_VARIANTS = ("paper", "default", "oracle", "oracle-warm", "alone")


@dataclass(frozen=True, slots=True)
class Cell:
    """One run to be made."""

    table: str
    devices: int
    variant: str
    seed: int


@dataclass(frozen=True, slots=True)
class Measured:
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
        if not _possible(loaded[name], VARIANTS[variant])
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
        if _possible(loaded[table], VARIANTS[variant])
    ]
    if expect is not None:
        expect(len(cells))
    measured = dict(_run_all(cells, loaded, jobs, progress))
    results = [
        _summary(table, count, variant, cells, measured)
        for table, count, variant in itertools.product(loaded, dict.fromkeys(devices), variants)
        if _possible(loaded[table], VARIANTS[variant])
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
    holdout = _holdout(table)
    if holdout < 2 or complete < holdout:
        raise InvalidInput(
            f"{table.name} has {len(table.studies)} studies, {complete} of which list every model; "
            f"this benchmark needs 3 studies or more, and up to {DEFAULT_HOLDOUT} complete ones "
            "for the history: add studies, or leave out models that few of them list"
        )


def _holdout(table: Table) -> int:
    return min(DEFAULT_HOLDOUT, len(table.studies) - 1)


def _possible(table: Table, variant: Variant) -> bool:
    if variant.needs == "synthetic":
        return table.name.startswith("synthetic") and table.features is not None
    return not variant.needs or table.features is not None


_TABLES: dict[str, Table] = {}  # of a worker process


def _begin(tables: dict[str, Table]) -> None:
    _TABLES.update(tables)


def _run_cell(cell: Cell) -> tuple[Cell, Measured]:
    return cell, run_cell(_TABLES[cell.table], cell)


def run_cell(table: Table, cell: Cell) -> Measured:
    """One run."""
    variant = VARIANTS[cell.variant]
    history, served = table.split(_holdout(table), cell.seed)
    if not variant.features:
        served = replace(served, features=None)
    told = history if variant.history else history.only([])
    # Where scores go below zero, studies start from the lowest of them: regret is not negative.
    floor = min(0.0, float(np.nanmin(table.scores)))
    experiment = Experiment(
        table=served, history=told, devices=cell.devices, floor=floor, **variant.settings
    )
    prior: Prior | LearnedPrior = experiment.make_prior(told)
    policy: str | PolicyMaker | None = variant.policy
    warm_start = experiment.warm_start
    if cell.variant == "told":
        prior, warm_start = _true_prior(table), "none"
    elif cell.variant == "alone":
        assert table.features is not None
        policy, warm_start = Alone.knowing(table.features), "none"
    run = simulate(
        served.specs(experiment.floor),
        served.truth(),
        prior,
        policy,
        devices=cell.devices,
        warm_start=warm_start,
        cost_exponent=experiment.cost_exponent,
        learn_costs=experiment.costs != "given",
        past_costs=experiment.past_costs(told),
        correct_costs=experiment.correct_costs,
        until_found=True,
        seed=cell.seed,
        disturbances=experiment.disturbances,
    )
    regret = run.regret
    return Measured(regret.cumulative, tuple(regret.time_to(level) for level in LEVELS))


def _true_prior(table: Table) -> SharedPrior:
    assert table.features is not None
    matrix = correlation("matern52", table.features, LENGTH_SCALE)
    mean = np.full(len(table.models), table.scores.mean())
    return SharedPrior(table.models, mean, matrix, DEFAULT_JITTER)


def _run_all(
    cells: list[Cell],
    tables: dict[str, Table],
    jobs: int | None,
    progress: Callable[[str], None] | None,
) -> Iterable[tuple[Cell, Measured]]:
    workers = min(jobs or os.cpu_count() or 1, len(cells))
    # The long ones first, so that no worker is left with one at the end.
    order = sorted(cells, key=lambda cell: -tables[cell.table].scores.size)
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(tables,)
    ) as pool:
        for future in as_completed([pool.submit(_run_cell, cell) for cell in order]):
            cell, result = future.result()
            if progress is not None:
                progress(f"{cell.table}, {cell.variant}, {cell.devices} devices")
            yield cell, result


def _summary(
    table: str,
    devices: int,
    variant: str,
    cells: list[Cell],
    measured: dict[Cell, Measured],
) -> dict[str, Any]:
    seeds = sorted({cell.seed for cell in cells})

    def runs(name: str) -> list[Measured]:
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
    reach = float(student.ppf((1.0 + CONFIDENCE) / 2.0, len(logs) - 1)) * error
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
