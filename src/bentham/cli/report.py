"""Comparisons of policies, printed as tables that fit 80 columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from bentham.core.gaussian.validation import Vector
from bentham.sim.experiment import LEVELS, Outcome, by_policy

# With two runs, the interval of a ratio spans an order of magnitude.
RUNS_FOR_INTERVAL = 3


def print_comparison(outcomes: Sequence[Outcome]) -> None:
    """Print one row per policy: its regret, and when mean regret fell to each level."""
    grouped = by_policy(outcomes)
    first = next(iter(grouped.values()))
    repeats = len(first)
    grid = Grid()
    grid.add_column("policy", no_wrap=True)
    grid.add_column("regret", justify="right", no_wrap=True)
    if len(grouped) > 1:
        grid.add_column("ratio", justify="right", no_wrap=True)
    for level in LEVELS:
        grid.add_column(f"to {level:g}", justify="right", no_wrap=True)
    ends_early = any(run.experiment.gain_share for run in outcomes)
    for name in ("happiness", "used") if ends_early else ("end",):
        grid.add_column(name, justify="right", no_wrap=True)
    baseline = _regrets(first)
    for name, runs in grouped.items():
        regrets = _regrets(runs)
        cells = [name, _spread(regrets)]
        if len(grouped) > 1:
            # Paired by seed: for a seed, all policies have the same history.
            positive = np.all(baseline > 0.0) and np.all(regrets > 0.0)
            cells.append(_number(_geometric_mean(regrets / baseline)) if positive else "-")
        cells += [_times([run.time_to()[str(level)] for run in runs]) for level in LEVELS]
        if ends_early:
            cells.append(f"{np.mean([run.run.regret.happiness for run in runs]):.2%}")
            cells.append(_number(float(np.mean([run.run.device_time for run in runs]))))
        else:
            cells.append(_number(float(np.mean([run.run.regret.end_time for run in runs]))))
        grid.add_row(*cells)
    console = Console()
    console.print(_title(first[0], repeats), highlight=False)
    console.print(grid)
    ended = "\nhappiness: at the end; used: device time" if ends_early else ""
    console.print(
        "[dim]regret: cumulative, summed over studies; to x: time until mean regret fell to x"
        f"{ended}[/]",
        highlight=False,
    )


def _title(outcome: Outcome, repeats: int) -> Text:
    past = len(outcome.history.studies)
    history = f" from {past} studies" if past else ""
    runs = f", mean of {repeats} runs" if repeats > 1 else ""
    return Text(f"{outcome.setting()}, prior {Path(outcome.experiment.prior).name}{history}{runs}")


def _regrets(runs: Sequence[Outcome]) -> Vector:
    return np.array([run.run.regret.cumulative for run in runs])


def _spread(values: Vector) -> str:
    if len(values) == 1:
        return _number(float(values[0]))
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    # Identical runs still differ by rounding.
    return f"{_number(mean)} ±{_number(deviation if deviation > 1e-9 * abs(mean) else 0.0)}"


def _times(times: Sequence[float | None]) -> str:
    reached = [time for time in times if time is not None]
    if len(reached) == len(times):
        return _number(float(np.mean(reached)))
    return "never" if not reached else f"in {len(reached)}/{len(times)}"


def _number(value: float) -> str:
    """Format with three to five significant digits, at most eight characters wide."""
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    digits, power = f"{value:.2e}".split("e")
    return f"{digits}e{int(power)}"


def print_regret(result: Mapping[str, Any], seconds: float) -> None:
    """Print a table per input table and number of devices, then the geometric means."""
    console = Console()
    runs = f"{result['repeat']} run{'s' if result['repeat'] > 1 else ''} each"
    console.print(f"Cumulative regret, {runs}, {seconds:,.0f} s", highlight=False)
    grids = dict.fromkeys((cell["table"], cell["devices"]) for cell in result["cells"])
    for table, devices in grids:
        grid = _regret_grid(f"{Path(table).name}, {devices} device{'s' if devices > 1 else ''}")
        for cell in result["cells"]:
            if (cell["table"], cell["devices"]) == (table, devices):
                ratios = [_with_interval(cell[key]) for key in _REGRETS]
                grid.add_row(cell["variant"], *ratios, *(_ratio(cell[key]) for key in _TIMES))
        console.print(grid)
    if len(grids) > 1:
        grid = _regret_grid("geometric mean")
        for name, means in result["geometric_mean"].items():
            keys = (*_REGRETS, *_TIMES)
            grid.add_row(name, *(_ratio(means.get(key, {"ratio": None})) for key in keys))
        console.print(grid)
    for skipped in result["skipped"]:
        name = Path(skipped["table"]).name
        console.print(
            f"{skipped['variant']} needs {skipped['needs']}: not run on {name}", style="dim"
        )
    console.print(
        "[dim]regret as a ratio; 0.03 and 0.01: time until the mean regret fell to that\n"
        f"level, as a ratio to the paper's. {_intervals(result['repeat'])}[/]",
        highlight=False,
    )


_REGRETS = ("to_paper", "to_oracle")
_TIMES = ("time_to_0.03_to_paper", "time_to_0.01_to_paper")


def _regret_grid(title: str) -> Grid:
    grid = Grid(title=title, title_justify="left")
    grid.add_column("variant", no_wrap=True)
    for name in ("to paper", "to oracle", "0.03", "0.01"):
        grid.add_column(name, justify="right", no_wrap=True)
    return grid


def _intervals(runs: int) -> str:
    if runs < RUNS_FOR_INTERVAL:
        return f"No intervals:\nthey need --repeat {RUNS_FOR_INTERVAL} or more."
    return "In parentheses:\n95 % intervals, on a log scale; --json also has those of the times."


def _ratio(value: Mapping[str, Any]) -> str:
    if value["ratio"] is None:
        return "-"
    return _number(value["ratio"])


def _with_interval(value: Mapping[str, Any]) -> str:
    ratio = _ratio(value)
    if value.get("runs", 0) < RUNS_FOR_INTERVAL or value["low"] == value["high"]:
        return ratio
    ends = (value["low"], value["high"])
    return f"{ratio} ({'-'.join(f'{end:.2g}' if end < 100 else f'{end:,.0f}' for end in ends)})"


def _geometric_mean(ratios: Vector) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
