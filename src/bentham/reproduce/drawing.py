"""The style of all figures, and writing a figure to files.

Colours are from Okabe and Ito's colour-blind-safe palette. Each line also has its own dash pattern
or marker, so that figures can be read in greyscale.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bentham.plots import Dashes

SIZE = (5.0, 3.6)  # inches: two side by side on a printed page, one on a phone
RESOLUTION = 160
_STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "bentham",  # the same drawing gives the same bytes
}


@dataclass(frozen=True, slots=True)
class Line:
    """The style of a policy or a case, the same in all figures."""

    label: str
    colour: str
    dashes: Dashes = "-"
    marker: str = "o"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure that has been written to disk."""

    name: str
    title: str
    caption: str
    svg: Path


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure to draw; `draw` fills the axes."""

    name: str
    title: str
    caption: str
    draw: Callable[[Axes], None]

    def write(self, folder: Path) -> Drawn:
        """Write the figure as SVG and PNG."""
        with mpl.rc_context(_STYLE):
            figure = Figure(figsize=SIZE, layout="constrained")
            axes = figure.subplots()
            self.draw(axes)
            axes.set_title(self.title)
            svg = folder / f"{self.name}.svg"
            # Figure.savefig would draw everything twice for each file.
            svg_canvas: Any = FigureCanvasSVG(figure)
            svg_canvas.print_svg(svg, metadata={"Date": None})
            figure.set_layout_engine("none")  # it has already been laid out
            figure.set_dpi(RESOLUTION)
            png_canvas: Any = FigureCanvasAgg(figure)
            png_canvas.print_png(svg.with_suffix(".png"), metadata={"Software": None})
        return Drawn(self.name, self.title, self.caption, svg)


def logarithmic(axes: Axes, which: str = "xy") -> None:
    """Make axes logarithmic, labelled with plain numbers."""
    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(_plain))
        axis.set_minor_formatter(NullFormatter())


def _plain(value: float, _: int | None) -> str:
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"


def label_few_decades(axes: Axes) -> None:
    """Label more than powers of ten if the y axis spans little more than a decade."""
    low, high = axes.get_ylim()
    if high / low < 30.0:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))


def counts(axes: Axes, values: Sequence[int]) -> None:
    """Make the x axis logarithmic, labelled with the given values."""
    axes.set_xscale("log")
    axes.set_xticks(list(values), [str(value) for value in values])
    axes.xaxis.set_minor_formatter(NullFormatter())
