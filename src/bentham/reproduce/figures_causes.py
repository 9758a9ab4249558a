"""Figures about causes: dividing by cost, the spread of scores and the number of studies."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from bentham.plots import BLUE, GREY, ORANGE, SKY, VERMILION
from bentham.reproduce.comparisons import READINGS, gain
from bentham.reproduce.curves import regret_ratio
from bentham.reproduce.drawing import Line, Panel, counts, logarithmic
from bentham.reproduce.evidence import TITLES, Evidence
from bentham.reproduce.plan import COMPARED_DEVICES, SPREAD_TABLES, STUDY_TABLES
from bentham.tables.standin import spread

ROUND_ROBINS = {
    "round-robin": Line("round robin by EI", VERMILION, marker="o"),
    "round-robin-rate": Line("round robin by EI per cost", SKY, marker="^"),
}
DEVICES_SHOWN = {
    1: Line("1 device", BLUE, marker="o"),
    8: Line("8 devices", ORANGE, "--", marker="s"),
}
PLACES_OF_COST = {
    "paper": Line("mdmt", BLUE, marker="o"),
    "paper-without-cost": Line("mdmt without cost", VERMILION, marker="s"),
    "round-robin-rate": Line("round robin by EI per cost", SKY, marker="^"),
}


def cause_panels(evidence: Evidence) -> list[Panel]:
    """Return the figures to draw."""
    found = [
        Panel(
            f"cost-{table}",
            f"{TITLES[table]}: the effect of dividing by cost",
            "Cumulative regret relative to round robin by EI (below 1 is better), with 95 % "
            "intervals. mdmt without cost chooses by EI alone.",
            partial(_cost, evidence, table),
        )
        for table in evidence.compared
    ]
    found.append(
        Panel(
            "spread",
            f"{len(SPREAD_TABLES)} tables of 17 studies of oboe, 1 device",
            "The gain of mdmt over round robin in cumulative regret, for tables with small to "
            "large differences between classifiers. Squares: the tables of the paper's figures.",
            partial(_spread, evidence),
        )
    )
    found.append(
        Panel(
            "studies",
            "Studies of oboe x 8 classifiers",
            "The gain from choosing among studies if both policies divide by cost: the ratio of "
            "cumulative regrets, round robin by EI per cost / mdmt, with 95 % intervals. Every run "
            "draws its studies from the 418 of oboe.",
            partial(_studies, evidence),
        )
    )
    return found


def _studies(evidence: Evidence, axes: Axes) -> None:
    numbers = [evidence.served(table) for table in STUDY_TABLES]
    for devices, line in DEVICES_SHOWN.items():
        gains = [gain(evidence, table, "round-robin-rate", devices) for table in STUDY_TABLES]
        values = np.array([one.value for one in gains])
        errors = np.array([[one.value - one.low, one.high - one.value] for one in gains])
        axes.errorbar(
            numbers, values, errors.T, color=line.colour, linestyle=line.dashes,
            marker=line.marker, markersize=5, capsize=3, label=line.label,
        )  # fmt: skip
    axes.axhline(1.0, color=GREY, linewidth=1.0)
    counts(axes, numbers)
    axes.set(xlabel="number of studies served", ylabel="cumulative regret, round robin / mdmt")
    axes.legend(loc="upper right")


def _cost(evidence: Evidence, table: str, axes: Axes) -> None:
    places = np.arange(len(COMPARED_DEVICES), dtype=float)
    for shift, (variant, line) in zip((-0.18, 0.0, 0.18), PLACES_OF_COST.items(), strict=True):
        ratios = [
            regret_ratio(
                evidence.curves(table, variant, devices),
                evidence.curves(table, "round-robin", devices),
            )
            for devices in COMPARED_DEVICES
        ]
        values = np.array([ratio.value for ratio in ratios])
        errors = np.array([[ratio.value - ratio.low, ratio.high - ratio.value] for ratio in ratios])
        axes.errorbar(
            places + shift, values, errors.T, color=line.colour, linestyle="none",
            marker=line.marker, markersize=6, capsize=3, label=line.label,
        )  # fmt: skip
    axes.axhline(1.0, color=GREY, linewidth=1.0, linestyle=":")
    axes.text(0.5, 1.0, "round robin by EI", ha="center", va="bottom", fontsize=8)
    logarithmic(axes, "y")
    low, high = axes.get_ylim()
    ticks = [tick for tick in (0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0) if low < tick < high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(low, high * (high / low) ** 0.32)  # room for the legend
    axes.set_xticks(places, [str(devices) for devices in COMPARED_DEVICES])
    axes.set_xlim(-0.5, places[-1] + 0.5)
    axes.set(xlabel="number of devices", ylabel="cumulative regret relative to round robin")
    axes.legend(loc="upper left")


def _spread(evidence: Evidence, axes: Axes) -> None:
    spreads = [float(spread(evidence.tables[table]).mean()) for table in SPREAD_TABLES]
    for rival in READINGS:
        line = ROUND_ROBINS[rival]
        gains = [gain(evidence, table, rival, 1).value for table in SPREAD_TABLES]
        axes.plot(
            spreads, gains, linestyle="none", color=line.colour, marker=line.marker, markersize=5,
            alpha=0.85, label=line.label,
        )  # fmt: skip
        for table in evidence.compared:
            place = float(spread(evidence.tables[table]).mean())
            axes.plot(
                [place], [gain(evidence, table, rival, 1).value], marker="s", color=line.colour,
                markersize=8, markeredgecolor="black",
            )  # fmt: skip
    for table in evidence.compared:
        place = float(spread(evidence.tables[table]).mean())
        axes.axvline(place, color=GREY, linewidth=0.8, linestyle=":")
        axes.text(
            place, 0.97, f" {TITLES[table].split(' (')[0]}", rotation=90, fontsize=7.5, va="top",
            ha="right", transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    axes.axhline(1.0, color=GREY, linewidth=1.0)
    logarithmic(axes)
    ticks = (0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
    low, high = axes.get_ylim()
    shown = [tick for tick in ticks if low < tick < high]
    axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
    axes.set_xticks([0.005, 0.01, 0.02, 0.05, 0.1], ["0.005", "0.01", "0.02", "0.05", "0.1"])
    axes.set(
        xlabel="standard deviation of scores over a study's models (mean)",
        ylabel="cumulative regret, round robin / mdmt",
    )
    axes.legend(loc="upper left")
