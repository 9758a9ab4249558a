"""Runs the missing cells, judges the claims and writes the verdicts to a file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bentham.errors import InvalidInput
from bentham.experiments.process_pool import run_in_pool
from bentham.experiments.variants import holdout
from bentham.reproduce.beyond import beyond
from bentham.reproduce.claims import Claim
from bentham.reproduce.claims_devices import DEVICE_CLAIMS
from bentham.reproduce.claims_one_device import ONE_DEVICE_CLAIMS
from bentham.reproduce.claims_theory import THEORY_CLAIMS
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import DEEPLEARNING, FULL, Scale, plan, tables_of
from bentham.reproduce.runs import DRAWS, Cell, Result
from bentham.reproduce.store import Store, table_hash, write_whole
from bentham.tables import Table, load_table, read_table
from bentham.tables.standin import classifiers

Task = tuple[Cell, int]
SMALLEST_SPAN = 1e-6  # of scores: below it, regret cannot be distinguished from rounding errors
# In the order of the report: first the experiments, then the theory.
CLAIMS = (*ONE_DEVICE_CLAIMS, *DEVICE_CLAIMS, *THEORY_CLAIMS)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The claims with their evidence, and the number of runs."""

    claims: list[Claim]
    evidence: Evidence
    made: int  # new runs
    kept: int  # reused runs
    replaced: int  # cells whose results came from other code or tables


def reproduce(
    out: Path,
    scale: Scale = FULL,
    deeplearning: Path | None = None,
    seed: int = 0,
    jobs: int | None = None,
    expect: Callable[[int, int], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run every cell that `out` does not hold yet, then judge the claims.

    `expect` receives the total number of steps (runs and claims) and the number of those already
    done, `progress` a description of each finished step.
    """
    cells = plan(scale, deeplearning is not None)
    tables = _tables(cells, deeplearning)
    store = Store(out / "results", tables)
    stored = {cell: store.read(cell) for cell in cells}
    replaced = len(store.stale)
    seeds = {cell: range(seed, seed + repeats) for cell, repeats in cells.items()}
    missing = [(cell, each) for cell in cells for each in seeds[cell] if each not in stored[cell]]
    total = sum(cells.values())
    if expect is not None:
        expect(total + len(CLAIMS), total - len(missing))
    # Longest first, so that no process is left with a long run at the end.
    missing.sort(key=lambda task: -task[0].work)
    for (cell, _), result in run_in_pool(_run, missing, jobs, _begin, tables):
        store.add(cell, result)
        if progress is not None:
            progress(cell.name)
    results = {
        cell: [result for result in store.sort(cell) if result["seed"] in seeds[cell]]
        for cell in cells
    }
    evidence = Evidence(results, tables, scale)
    claims = []
    for judge in CLAIMS:
        claims.append(judge(evidence))
        if progress is not None:
            progress(f"claim: {claims[-1].name}")
    _write_claims(out / "claims.json", claims, evidence, seed)
    return Reproduction(claims, evidence, len(missing), total - len(missing), replaced)


_TABLES: dict[str, Table] = {}  # set in each process of the pool


def _begin(tables: Mapping[str, Table]) -> None:
    _TABLES.update(tables)


def _run(task: Task) -> Result:
    cell, seed = task
    return cell.run(seed, _TABLES)


def _tables(cells: Mapping[Cell, int], deeplearning: Path | None) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for name in tables_of(cells):
        if name.startswith(DRAWS):
            tables[name] = replace(classifiers(load_table("oboe")), name=name)
        elif name != DEEPLEARNING:
            tables[name] = load_table(name)
        elif deeplearning is not None:
            tables[name] = _checked(read_table(deeplearning, DEEPLEARNING), deeplearning)
    return tables


def _checked(table: Table, path: Path) -> Table:
    """Check that DEEPLEARNING has 8 complete studies for the prior, and others to serve."""
    complete = int(np.isfinite(table.scores).all(axis=1).sum())
    if len(table.studies) < 10 or complete < holdout(table) or len(table.models) < 3:
        raise InvalidInput(
            f"{path}: {len(table.studies)} studies ({complete} complete) x {len(table.models)} "
            "models; the protocol needs at least 10 studies, 8 of them complete, and 3 models: "
            "check that this is the DEEPLEARNING table (22 x 8)"
        )
    spans = np.nanmax(table.scores, axis=1) - np.nanmin(table.scores, axis=1)
    if float(spans.max()) < SMALLEST_SPAN:
        raise InvalidInput(
            f"{path}: in every study, all models score the same (within {SMALLEST_SPAN:g}); check "
            "the file"
        )
    return table


def looks_like_deeplearning(table: Table) -> bool:
    """Return whether the table has the paper's shape and kind of scores: 22 x 8 accuracies."""
    scores = table.scores
    return scores.shape == (22, 8) and bool(np.nanmin(scores) >= 0.0 and np.nanmax(scores) <= 1.0)


def _description(evidence: Evidence) -> dict[str, Any]:
    table = evidence.tables[DEEPLEARNING]
    studies, models = table.scores.shape
    return {"studies": studies, "models": models, "hash": table_hash(table)}


def _write_claims(path: Path, claims: list[Claim], evidence: Evidence, seed: int) -> None:
    """Write the claims without times, paths or machine names: same runs, same bytes."""
    content: dict[str, Any] = {
        "scale": evidence.scale.name,
        "seed": seed,
        "deeplearning": _description(evidence) if evidence.has_deeplearning else None,
        "claims": [claim.plain() for claim in claims],
        "beyond": beyond(evidence),
    }
    write_whole(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
