"""The plan: every cell of the paper's experiments, of the theory, and beyond the paper.

A cell is one setting; its runs differ only in the random seed. Figures and claims share cells, so
the plan is a set of cells, each with its number of runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bentham.reproduce.problems import CASES, TheoryCell
from bentham.reproduce.runs import DRAWS, Cell, TableCell
from bentham.tables.standin import STANDIN

SYNTHETIC, DEEPLEARNING = "synthetic", "deeplearning"
DEVICES = (1, 2, 4, 8)
SYNTHETIC_DEVICES = (1, 2, 4, 8, 16)
COMPARED_DEVICES = (1, 4, 8)
PAPER_POLICIES = ("paper", "round-robin", "random")
BEYOND = ("default", "gp-ucb", "oracle")
# Round robin with division by cost, and mdmt without: the paper's text leaves this open.
OTHER_COST_USE = ("round-robin-rate", "paper-without-cost")
SPREAD_TABLES = tuple(f"spread:{place}" for place in range(1, 25))
# 8 of these studies are history, so 17 and 22 leave 9 and 14 to serve, as in the paper.
STUDY_COUNTS = (17, 22, 38, 68, 128, 218)
STUDY_TABLES = tuple(f"{DRAWS}{studies}" for studies in STUDY_COUNTS)


@dataclass(frozen=True, slots=True)
class Scale:
    """The number of runs per cell: `repeats` for the two tables, `probes` for further tables."""

    name: str
    repeats: int
    probes: int
    synthetic: int
    learned: int  # runs of the learned default on the synthetic table, the slowest of all
    rates: int
    bounds: int
    models: tuple[int, ...]  # per study, as problems grow


QUICK = Scale(
    "quick",
    repeats=12,
    probes=4,
    synthetic=5,
    learned=2,
    rates=16,
    bounds=4,
    models=(16, 32, 64, 128),
)
FULL = Scale(
    "full", repeats=100, probes=20, synthetic=5, learned=5, rates=60, bounds=20,
    models=(16, 32, 64, 128, 256),
)  # fmt: skip

# The problems for checking the bound: one of these numbers grows, the others stay fixed.
STUDIES, MANY_STUDIES, MODELS, FEW_DEVICES = 4, 8, 16, 2
GROWING_SHARE = (0.125, 0.25, 0.5, 1.0)
GROWING_DEVICES = (1, 2, 4, 8, 16)
GROWING_STUDIES = (2, 4, 8, 16)
BOUND_CASES = ("finite-rank", "matern", "independent")
SPEED_UP_CASES = ("matern", "independent")


def plan(scale: Scale, deeplearning: bool) -> dict[Cell, int]:
    """Return every cell with its number of runs."""
    cells: dict[Cell, int] = {}
    for table in (STANDIN, DEEPLEARNING) if deeplearning else (STANDIN,):
        for variant in (*PAPER_POLICIES, *BEYOND, *OTHER_COST_USE):
            for devices in COMPARED_DEVICES:
                cells[TableCell(table, variant, devices)] = scale.repeats
        for variant in ("paper", "round-robin", "round-robin-rate", *BEYOND):
            for devices in DEVICES:
                cells[TableCell(table, variant, devices)] = scale.repeats
    for variant in ("paper", "told", *BEYOND):
        for devices in SYNTHETIC_DEVICES:
            cells[TableCell(SYNTHETIC, variant, devices)] = (
                scale.learned if variant == "default" else scale.synthetic
            )
    for table in SPREAD_TABLES:
        for variant in ("paper", "round-robin", "round-robin-rate"):
            cells[TableCell(table, variant, 1)] = scale.probes
    for table in STUDY_TABLES:
        for variant in ("paper", "round-robin-rate"):
            for devices in (1, 8):
                cells[TableCell(table, variant, devices)] = scale.probes
    for case in CASES:
        cells |= dict.fromkeys(rate_cells(case, scale), scale.rates)
    for case in BOUND_CASES:
        for grown in growing(case).values():
            cells |= dict.fromkeys(grown, scale.bounds)
    for case in SPEED_UP_CASES:
        for policy in ("mdmt", "joint"):
            cells |= dict.fromkeys(speed_up_cells(case, policy), scale.bounds)
    return cells


def rate_cells(case: str, scale: Scale) -> tuple[TheoryCell, ...]:
    """Return problems of growing size, half of the arms tried: the rate of the average regret."""
    return tuple(TheoryCell(case, STUDIES, models, 1, 0.5) for models in scale.models)


def growing(case: str) -> Mapping[str, tuple[TheoryCell, ...]]:
    """Return the cells in which regret is compared with the bound, as T, M or N grows."""

    def cell(studies: int, devices: int, share: float = 1.0) -> TheoryCell:
        return TheoryCell(case, studies, MODELS, devices, share, bounded=True)

    return {
        "T": tuple(cell(STUDIES, FEW_DEVICES, share) for share in GROWING_SHARE),
        "M": tuple(cell(MANY_STUDIES, devices) for devices in GROWING_DEVICES),
        "N": tuple(cell(studies, FEW_DEVICES) for studies in GROWING_STUDIES),
    }


def speed_up_cells(case: str, policy: str) -> tuple[TheoryCell, ...]:
    """Return cells with up to as many devices as studies, started as in Algorithm 1."""
    return tuple(
        TheoryCell(case, MANY_STUDIES, MODELS, devices, 1.0, policy, "mean") for devices in DEVICES
    )


def tables_of(cells: Iterable[Cell]) -> list[str]:
    """Return the tables that the cells need."""
    return list(dict.fromkeys(cell.table for cell in cells if isinstance(cell, TableCell)))
