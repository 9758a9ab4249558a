"""Figures of Section 5: the bound, MIU, and the rate of the average regret."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from bentham.plots import BLUE, GREEN, GREY, ORANGE, PINK, VERMILION
from bentham.reproduce.claims_theory import MIU_SIZES, average_regret, miu_growth
from bentham.reproduce.drawing import Line, Panel, counts, logarithmic
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import BOUND_CASES, STUDIES, growing

CASE_LINES = {
    "finite-rank": Line("finite rank", BLUE, "-", "o"),
    "matern": Line("Matérn 5/2", GREEN, "-.", "^"),
    "independent": Line("independent", VERMILION, "--", "s"),
    "independent-even": Line("independent, uniform scores", ORANGE, (0, (5, 1)), "v"),
    "independent-needle": Line("independent, one best arm", PINK, ":", "D"),
}
GROWTH = {
    "T": ("time T (units of cost)", "4 studies x 16 models, 2 devices"),
    "M": ("number of devices M", "8 studies x 16 models"),
    "N": ("number of studies N", "16 models each, 2 devices"),
}


def theory_panels(evidence: Evidence) -> list[Panel]:
    """Return the figures to draw."""
    runs = f"mean of {evidence.scale.bounds} runs"
    found = [
        Panel(
            f"bound-{grows}",
            f"Regret and bound as {grows} grows",
            f"Measured cumulative regret (thick) and the theorem's (MIU + M) N² c/M without its "
            f"constant (thin), as {grows} grows; {setting}; {runs}. With the constants of the "
            "proof, the bound lies far above this plot.",
            partial(_bound, evidence, grows),
        )
        for grows, (_, setting) in GROWTH.items()
    ]
    found.append(
        Panel(
            "miu",
            "MIU(T, K), half of the arms tried",
            "Maximal incremental uncertainty as the number of arms grows: a lower and an upper "
            "bound, shaded where they differ. The lines of Matérn and independent models "
            "coincide.",
            _miu,
        )
    )
    found.append(
        Panel(
            "rate",
            "Average regret as problems grow, half of the arms tried",
            "Regret_T / T per study, counted from the studies' first scores; 4 studies of 16 or "
            f"more models, 1 device; mean of {evidence.scale.rates} runs with standard errors. The "
            "theorem's rates: 1/T for finite rank, no decrease for independent models.",
            partial(_rate, evidence),
        )
    )
    return found


def _bound(evidence: Evidence, grows: str, axes: Axes) -> None:
    for case in BOUND_CASES:
        cells, line = growing(case)[grows], CASE_LINES[case]
        key = {"T": "until", "M": "devices", "N": "studies"}[grows]
        if grows == "T":
            places = evidence.column(cells, key)[0]
        else:
            places = np.array([getattr(cell, key) for cell in cells])
        regret = evidence.column(cells, "cumulative_regret").mean(axis=0)
        bound = evidence.column(cells, "theorem_lower").mean(axis=0)
        axes.plot(
            places, regret, color=line.colour, linestyle=line.dashes, marker=line.marker,
            markersize=4.5, label=line.label,
        )  # fmt: skip
        axes.plot(
            places, bound, color=line.colour, linestyle=line.dashes, linewidth=0.8,
            marker=line.marker, markersize=3, markerfacecolor="white",
        )  # fmt: skip
    axes.plot([], [], color=GREY, linewidth=0.8, label="bound, without its constant")
    logarithmic(axes, "y")
    counts(axes, [round(place) for place in places])
    axes.set(xlabel=GROWTH[grows][0], ylabel="cumulative regret (score x time)")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.35)  # room for the legend
    axes.legend(loc="upper left", ncols=2)


def _miu(axes: Axes) -> None:
    for case, line in CASE_LINES.items():
        if case not in BOUND_CASES:
            continue
        sizes, lower, upper = np.array(miu_growth(case)).T
        axes.plot(
            sizes, lower, color=line.colour, linestyle=line.dashes, marker=line.marker,
            markersize=9.0 if case == "matern" else 4.5, markerfacecolor="none", label=line.label,
        )  # fmt: skip
        axes.fill_between(sizes, lower, upper, color=line.colour, alpha=0.15, linewidth=0)
    logarithmic(axes, "y")
    counts(axes, MIU_SIZES)
    axes.set(xlabel="number of arms", ylabel="MIU (score)")
    axes.legend(loc="upper left")


def _rate(evidence: Evidence, axes: Axes) -> None:
    for case, line in CASE_LINES.items():
        times, average = average_regret(evidence, case)
        average = average / STUDIES
        error = average.std(axis=0, ddof=1) / np.sqrt(len(average))
        axes.errorbar(
            times, average.mean(axis=0), error, color=line.colour, linestyle=line.dashes,
            marker=line.marker, markersize=4.5, capsize=2, label=line.label,
        )  # fmt: skip
    logarithmic(axes, "y")
    counts(axes, [round(time) for time in times])
    low, high = axes.get_ylim()
    axes.set_ylim(low / (high / low) ** 0.3, high)  # room for the legend
    axes.set(xlabel="time T (units of cost)", ylabel="average regret (score, per study)")
    axes.legend(loc="lower left")
