"""The demo's output at the end: each study's best model, and the comparison."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from bentham.demo.comparison import LEVELS, Comparison, factor
from bentham.terminal import line

COLUMNS = (11, 15, 11, 6, 20, 5, 6)
# Metrics whose score is not in the target's units, and the metric in those units to print instead.
NATURAL = {"rmse": "rmse", "mae": "mae", "r2": "rmse", "median-absolute-error": "mae"}


def results(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """Return the table of each study's best model, from rows of `study_row`."""
    names = ("tenant", "study", "metric", " score", "model", "tried", "  time")
    lines: list[RenderableType] = [
        line(*zip((Text(name, "bold") for name in names), COLUMNS, strict=True)),
        Rule(style="bright_black"),
    ]
    before = ""
    for row in rows:
        natural = NATURAL.get(row["metric"], "")
        figure = row["metrics"].get(natural)
        seconds = row["device_seconds"]
        cells: tuple[Text | str, ...] = (
            row["tenant"] if row["tenant"] != before else "",
            row["study"],
            row["metric"] if figure is None else f"{natural} {figure:.4g}",
            Text("-" if row["score"] is None else f"{row['score']:>6.4f}", "bold"),
            row["model"] or "-",
            f"{row['complete']:>2}/{row['models']}",
            f"{seconds:.1f} s".rjust(6) if seconds < 100.0 else f"{seconds:.0f} s".rjust(6),
        )
        lines.append(line(*zip(cells, COLUMNS, strict=True)))
        before = row["tenant"]
    return Group(*lines)


def comparison_grid(comparison: Comparison) -> RenderableType:
    """Return the table of times to each level of happiness, and of cumulative regret."""
    grid = Grid(
        box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, collapse_padding=True, show_edge=False
    )
    grid.add_column("happiness", no_wrap=True)
    for level in LEVELS:
        grid.add_column(f"{level:.0%}", justify="right", no_wrap=True)
    grid.add_column("cumulative regret", justify="right", no_wrap=True)
    names = ("Bentham, as it ran", "Bentham, replayed", "round robin, replayed")
    runs = (comparison.real, comparison.joint, comparison.round_robin)
    times = [comparison.times(level) for level in LEVELS]
    for place, (name, run) in enumerate(zip(names, runs, strict=True)):
        seconds = [f"{each[place]:.1f} s" for each in times]
        grid.add_row(name, *seconds, f"{run.cumulative:.1f}")
    ratios = [f"{factor(each[2], each[1])}x" for each in times]
    total = f"{factor(comparison.round_robin.cumulative, comparison.joint.cumulative)}x"
    grid.add_row(Text("round robin / Bentham", "bold"), *ratios, total, style="bold")
    return grid


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON data, with the curves."""
    runs = {
        "real": comparison.real,
        "joint": comparison.joint,
        "round_robin": comparison.round_robin,
    }
    return {
        "happiness_seconds": {
            f"{level:g}": dict(zip(runs, comparison.times(level), strict=True)) for level in LEVELS
        },
        "cumulative_regret": {name: run.cumulative for name, run in runs.items()},
        "ending_early": {"saved": comparison.early.saved, "lost": list(comparison.early.lost)},
        "curves": {name: run.curve for name, run in runs.items()},
    }
