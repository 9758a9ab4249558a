"""The paper's figures, drawn from the results, and figures that go beyond the paper."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bentham.plots import BLUE, GREEN, GREY, ORANGE, PINK, SKY, VERMILION, draw_mean
from bentham.reproduce.drawing import Drawn, Line, Panel, counts, label_few_decades, logarithmic
from bentham.reproduce.evidence import CUTOFF, TITLES, Evidence
from bentham.reproduce.figures_causes import cause_panels
from bentham.reproduce.figures_theory import theory_panels
from bentham.reproduce.plan import (
    BEYOND,
    COMPARED_DEVICES,
    DEEPLEARNING,
    DEVICES,
    PAPER_POLICIES,
    SYNTHETIC_DEVICES,
)
from bentham.tables.standin import STANDIN

POINTS = 400
SHOWN_FROM = 0.9  # of the initial regret
SHOWN_UNTIL = 0.025  # of the regret after the warm start

POLICIES = {
    "paper": Line("mdmt (MM-GP-EI)", BLUE),
    "round-robin": Line("round robin by EI", VERMILION, "--"),
    "round-robin-rate": Line("round robin by EI per cost", SKY, (0, (1, 1))),
    "random": Line("random", GREEN, "-."),
    "default": Line("learned defaults (joint)", ORANGE, (0, (5, 1)), "s"),
    "gp-ucb": Line("gp-ucb (ease.ml)", PINK, (0, (3, 1, 1, 1, 1, 1))),
    "oracle": Line("oracle", GREY, ":"),
}
SHOWN_POLICIES = (*PAPER_POLICIES, "round-robin-rate")  # both readings of round robin
DEVICE_LINES = {
    1: Line("1 device", BLUE),
    2: Line("2 devices", VERMILION, "--"),
    4: Line("4 devices", GREEN, "-."),
    8: Line("8 devices", ORANGE, (0, (5, 1))),
}
PRIORS = {
    "paper": Line("mdmt, prior from 8 studies", BLUE, "-", "o"),
    "told": Line("mdmt, true prior", SKY, "--", "^"),
}
BEYOND_PRIORS = {
    "paper": PRIORS["paper"],
    "default": Line("learned defaults (joint)", ORANGE, "-.", "s"),
    "gp-ucb": Line("gp-ucb (ease.ml)", PINK, "--", "v"),
    "oracle": Line("oracle", GREY, ":", "D"),
}
UNITS = {STANDIN: "time (seconds)"}
OTHER_UNITS = "time (the table's units of cost)"


def draw_figures(
    evidence: Evidence, folder: Path, progress: Callable[[str], None] | None = None
) -> list[Drawn]:
    """Draw all figures, as SVG and PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for panel in panels(evidence):
        drawn.append(panel.write(folder))
        if progress is not None:
            progress(panel.name)
    # Delete an earlier run's figures of DEEPLEARNING: they would contradict a report without it.
    for path in folder.glob(f"*{DEEPLEARNING}*"):
        if path.stem not in {one.name for one in drawn} and path.suffix in (".svg", ".png"):
            path.unlink()
    return drawn


def panels(evidence: Evidence) -> list[Panel]:
    """Return all figures to draw, in the order of the report."""
    runs = f"{evidence.scale.repeats} runs, mean and one-sigma band"
    found = []
    for table in evidence.compared:
        title = f"{TITLES[table]}, {evidence.served(table)} studies"
        found.append(
            Panel(
                f"figure-2-{table}",
                f"{title}, 1 device",
                f"The paper's Figure 2: policies with one device; {runs}.",
                partial(_policies, evidence, table, 1, SHOWN_POLICIES),
            )
        )
    for table in evidence.compared:
        title = f"{TITLES[table]}, {evidence.served(table)} studies"
        found.append(
            Panel(
                f"figure-3-{table}",
                f"{title}, mdmt",
                f"The paper's Figure 3: mdmt with 1, 2, 4 and 8 devices; {runs}.",
                partial(_devices, evidence, table, "paper"),
            )
        )
    for devices in (4, 8):
        for table in evidence.compared:
            title = f"{TITLES[table]}, {evidence.served(table)} studies"
            found.append(
                Panel(
                    f"figure-4-{table}-{devices}",
                    f"{title}, {devices} devices",
                    (
                        "The paper's Figure 4: policies with four devices"
                        if devices == 4
                        else "In addition to the paper's Figure 4: policies with eight devices"
                    )
                    + f"; {runs}.",
                    partial(_policies, evidence, table, devices, SHOWN_POLICIES),
                )
            )
    found.append(
        Panel(
            "figure-5-synthetic",
            f"Synthetic, 42 studies x 50 models: time to regret {CUTOFF:g}",
            "The paper's Figure 5: the average time to reach an instantaneous regret of "
            f"{CUTOFF:g}, with one-sigma bars over {evidence.scale.synthetic} runs. Thin lines: an "
            "ideal speed-up, equal to the number of devices.",
            partial(_synthetic, evidence, PRIORS),
        )
    )
    found += cause_panels(evidence)
    found += theory_panels(evidence)
    for devices in COMPARED_DEVICES:
        for table in evidence.compared:
            title = f"{TITLES[table]}, {devices} device{'s' if devices > 1 else ''}"
            found.append(
                Panel(
                    f"beyond-{table}-{devices}",
                    title,
                    "Beyond the paper: mdmt compared with Bentham's learned defaults, the "
                    f"predecessor gp-ucb, and an oracle that knows every score; {runs}.",
                    partial(
                        _policies, evidence, table, devices,
                        ("paper", "default", "gp-ucb", "oracle"),
                    ),
                )
            )  # fmt: skip
    for variant in BEYOND:
        for table in evidence.compared:
            name = POLICIES[variant].label
            found.append(
                Panel(
                    f"beyond-devices-{table}-{variant}",
                    f"{TITLES[table]}, {name}",
                    f"Beyond the paper: {name} with 1, 2, 4 and 8 devices; {runs}.",
                    partial(_devices, evidence, table, variant),
                )
            )
    found.append(
        Panel(
            "beyond-synthetic",
            f"Synthetic, 42 studies x 50 models: time to regret {CUTOFF:g}",
            "Beyond the paper: Figure 5 for all policies, with one-sigma bars over runs.",
            partial(_synthetic, evidence, BEYOND_PRIORS),
        )
    )
    return found


def _policies(
    evidence: Evidence, table: str, devices: int, variants: Sequence[str], axes: Axes
) -> None:
    shown = {variant: (variant, devices, POLICIES[variant]) for variant in variants}
    _regret(evidence, table, list(shown.values()), axes)


def _devices(evidence: Evidence, table: str, variant: str, axes: Axes) -> None:
    shown = [(variant, devices, DEVICE_LINES[devices]) for devices in DEVICES]
    _regret(evidence, table, shown, axes)


def _regret(
    evidence: Evidence, table: str, shown: Sequence[tuple[str, int, Line]], axes: Axes
) -> None:
    """Plot mean regret over time; both axes are logarithmic, since both span several decades."""
    cells = [(evidence.curves(table, variant, count), line) for variant, count, line in shown]
    first = max(float(curves.values[:, 0].mean()) for curves, _ in cells)
    lowest = SHOWN_UNTIL * float(evidence.curves(table, "paper", 1).levels()[0])
    one = np.ones((1, len(cells[0][0].values))) / len(cells[0][0].values)
    ends = [curves.times_to(np.array([SHOWN_FROM * first, lowest]), one)[0] for curves, _ in cells]
    start, end = min(float(pair[0]) for pair in ends), max(float(pair[1]) for pair in ends)
    times = np.geomspace(max(start, 1e-9 * end), end, POINTS)
    for curves, line in cells:
        sampled = curves.sampled(times)
        draw_mean(axes, times, sampled, line.label, line.colour, line.dashes, lowest / 10.0)
    logarithmic(axes)
    axes.set(
        xlim=(times[0], times[-1]),
        ylim=(lowest, 1.2 * first),
        xlabel=UNITS.get(table, OTHER_UNITS),
        ylabel="instantaneous regret (mean over studies)",
    )
    label_few_decades(axes)
    axes.legend(loc="lower left")


def _synthetic(evidence: Evidence, lines: Mapping[str, Line], axes: Axes) -> None:
    devices = np.array(SYNTHETIC_DEVICES, dtype=float)
    for variant, line in lines.items():
        times = [evidence.cutoff_times(variant, count) for count in SYNTHETIC_DEVICES]
        means = np.array([one.mean() for one in times])
        bars = [one.std(ddof=1) if len(one) > 1 else 0.0 for one in times]
        axes.errorbar(
            devices, means, bars, color=line.colour, linestyle=line.dashes, marker=line.marker,
            markersize=4.5, capsize=2.5, label=line.label,
        )  # fmt: skip
        axes.plot(devices, means[0] / devices, color=line.colour, linewidth=0.8, alpha=0.7)
    axes.plot([], [], color=GREY, linewidth=0.8, label="ideal speed-up from 1 device")
    logarithmic(axes, "y")
    counts(axes, SYNTHETIC_DEVICES)
    low, high = axes.get_ylim()
    axes.set_ylim(low / (high / low) ** 0.3, high)  # room for the legend
    axes.set(xlabel="number of devices", ylabel="average time (units of cost)")
    axes.legend(loc="lower left")
