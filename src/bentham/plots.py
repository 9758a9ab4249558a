"""Plots of runs, in one style: colours for the colour-blind, and a dash pattern per line."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.errors import InvalidInput
from bentham.sim.experiment import Outcome, by_policy

FORMATS = (".png", ".svg", ".pdf")
# Okabe and Ito's palette, with a dash pattern each, so that lines also differ in greyscale.
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555",
)  # fmt: skip
Dashes = str | tuple[float, tuple[float, ...]]
COLOURS = (BLUE, VERMILION, GREEN, PINK, GREY, ORANGE, SKY)
DASHES: tuple[Dashes, ...] = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)), ":")
# Both axes are logarithmic, since regret falls by orders of magnitude over orders of magnitude of
# time. The plot shows the regret between these fractions of its initial value.
SHOWN_FROM, SHOWN_UNTIL = 0.9, 0.005
POINTS = 600


def check_format(path: Path) -> None:
    """Refuse a file name without a known format, before anything is run."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(
            f"{path}: unknown plot format; use a name that ends in {', '.join(FORMATS)}"
        )


def draw_regret(outcomes: Sequence[Outcome], path: Path) -> None:
    """Plot mean regret over time, a line per policy, with a one-sigma band over repeats."""
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 4.2), layout="constrained")
    first_regret = max(outcome.run.regret.curve[0][1] for outcome in outcomes)
    start, end = _span(outcomes)
    if first_regret > 0.0 and end > 0.0:
        lowest = SHOWN_UNTIL * first_regret
        _draw_lines(axes, outcomes, np.geomspace(start, end, POINTS), lowest / 10.0)
        axes.set(xscale="log", yscale="log", xlim=(start, end), ylim=(lowest, 1.2 * first_regret))
    else:  # no regret or no time: linear axes
        _draw_lines(axes, outcomes, np.linspace(0.0, end or 1.0, POINTS), -np.inf)
    _label(axes, outcomes)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        pyplot.close(figure)


def _draw_lines(axes: Axes, outcomes: Sequence[Outcome], times: Vector, lowest: float) -> None:
    styles = zip(cycle(COLOURS), cycle(DASHES), strict=False)  # 35 pairs; there are fewer policies
    for (name, runs), (colour, dashes) in zip(by_policy(outcomes).items(), styles, strict=False):
        curves = np.array([_sampled(run, times) for run in runs])
        draw_mean(axes, times, curves, name, colour, dashes, lowest)


def draw_mean(
    axes: Axes,
    times: Vector,
    curves: Matrix,
    label: str,
    colour: str,
    dashes: Dashes,
    lowest: float,
) -> None:
    """Plot the mean over runs, and a band of one standard deviation that stays above `lowest`."""
    mean = curves.mean(axis=0)
    axes.plot(times, mean, color=colour, linestyle=dashes, linewidth=1.8, label=label)
    if len(curves) > 1:
        band = curves.std(axis=0, ddof=1)
        low, high = np.maximum(mean - band, lowest), mean + band
        axes.fill_between(times, low, high, color=colour, alpha=0.15, linewidth=0)


def _label(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    first = outcomes[0]
    repeats = len(by_policy(outcomes)[first.policy])
    axes.set_title(
        first.setting() + (f", {repeats} runs, one-sigma bands" if repeats > 1 else ""),
        fontsize=10,
        loc="left",
        parse_math=False,
    )
    axes.set_xlabel("time (units of cost)")
    axes.set_ylabel("instantaneous regret (mean over studies)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")


def _span(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Return the time when regret begins to fall, and the time when little of it is left."""
    starts, ends = [], []
    for outcome in outcomes:
        regret = outcome.run.regret
        reached = regret.time_to(SHOWN_UNTIL * regret.curve[0][1])
        ends.append(regret.end_time if reached is None else reached)
        start = regret.time_to(SHOWN_FROM * regret.curve[0][1])
        starts += [start] if start else []
    end = max(ends)
    return min([*starts, end / 2.0]), end


def _sampled(outcome: Outcome, times: Vector) -> Vector:
    """Return the step curve of a run at the given times."""
    steps = np.array(outcome.run.regret.curve)
    places = np.searchsorted(steps[:, 0], times, side="right") - 1
    return np.asarray(steps[places, 1])
