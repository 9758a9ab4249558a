"""Output of the remote commands: tables, numbers, times, JSON."""

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bentham.cli.remote.tables import FittingTable, TableColumn

if TYPE_CHECKING:
    from pydantic import BaseModel

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def print_json(answer: "BaseModel | Iterable[BaseModel]") -> None:
    """Print one JSON value and nothing else."""
    from pydantic import BaseModel

    if isinstance(answer, BaseModel):
        print(answer.model_dump_json())
    else:
        print(f"[{', '.join(item.model_dump_json() for item in answer)}]")


def show(*parts: RenderableType) -> None:
    """Print at the width of the terminal."""
    console = Console(highlight=False)
    for part in parts:
        console.print(part)


def say(text: str) -> None:
    """Print a line about what happens to standard error, so that it is not part of the output."""
    print(plain(text).replace("\n", " "), file=sys.stderr, flush=True)


def grid(columns: Sequence[str | TableColumn], title: str | None = None) -> FittingTable:
    """Return a table that fits the terminal.

    Before a column's name, '>' aligns it right, '~' lets it wrap, and '?' lets it be left out if
    the table does not fit; with more '?' it is left out earlier.
    """
    return FittingTable(
        [_column(each) if isinstance(each, str) else each for each in columns], title
    )


def _column(text: str) -> TableColumn:
    name = text.lstrip(">~?")
    marks = text.removesuffix(name)
    return TableColumn(name, _texts, ">" in marks, "~" in marks, marks.count("?"))


def _texts(values: Sequence[object]) -> list[str]:
    return [plain(str(value)).replace("\n", " ") for value in values]


def figures(
    name: str, shown: Callable[[Sequence[Any]], list[str]] | None = None, optional: int = 0
) -> TableColumn:
    """Return a column of numbers whose decimal points are aligned; its values are not yet texts."""
    return TableColumn(name, shown or numbers, right=True, optional=optional)


def fields(pairs: Iterable[tuple[str, str]]) -> Grid:
    """Return names and values, one pair per line; long values wrap."""
    table = Grid.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(plain(value)))
    return table


def cell(text: str) -> Text:
    """Return user text for a table: on one line, cropped if too long, not parsed as markup."""
    return Text(plain(text).replace("\n", " "), no_wrap=True, overflow="ellipsis")


def file_name(text: str) -> str:
    """Turn user text into a safe file name in this directory."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.") or "unnamed"


def size(count: int) -> str:
    """Format a number of bytes with a unit."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 2**10:,.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def plain(text: str) -> str:
    """Replace control characters."""
    return "".join(
        character if character.isprintable() or character == "\n" else "�" for character in text
    )


def plain_log(text: str) -> str:
    """Replace control characters in a program's output; a lone carriage return ends a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\t")
    return "\t".join(map(plain, lines))


def number(value: float | None) -> str:
    """Format a number with up to four significant digits."""
    if value is None:
        return "-"
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:.2e}"


def is_own_value(value: float, score: float) -> bool:
    """Whether a score is the value of the metric itself, instead of computed from it."""
    return math.isclose(value, score, rel_tol=1e-9)


def numbers(values: Sequence[float | None]) -> list[str]:
    """Format the numbers of a column with the same number of decimals."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    most = 4 if max(known, default=1.0) >= 0.1 else 6
    decimals = max([min(most, _decimals(number(value))) for value in known], default=0)
    least = 0.5 * 10.0**-decimals

    def shown(value: float | None) -> str:
        if value is None or not math.isfinite(value) or 0.0 < abs(value) < least:
            return number(value)
        return number(value) if abs(value) >= 1e6 else f"{value:,.{decimals}f}"

    return [shown(value) for value in values]


def rates(values: Sequence[float | None]) -> list[str]:
    """Format the numbers of a column that may differ by orders of magnitude."""
    return [rate(value) for value in values]


def rate(value: float | None) -> str:
    """Format a number that may be of any order of magnitude, such as an EI rate."""
    return f"{value:.2e}" if value else number(value)


def spans(values: Sequence[float | None]) -> list[str]:
    """Format the durations of a column with the same number of decimals, units below each other."""
    return _with_units([span(value) for value in values])


def sizes(values: Sequence[int]) -> list[str]:
    """Format the numbers of bytes of a column with units below each other."""
    if max(values, default=0) < 1024:
        return _with_units([size(value) for value in values])
    return _with_units(
        [size(value) if value >= 1024 else f"{value / 2**10:.1f} KiB" for value in values]
    )


def _with_units(texts: Sequence[str]) -> list[str]:
    """Align numbers that are followed by units: the same number of decimals, and equal widths."""
    parts = [text.partition(" ") for text in texts]
    known = [number for number, _, unit in parts if unit]
    most = max([float(number.replace(",", "")) for number in known], default=0.0)
    decimals = min(1 if most >= 10.0 else 2, max(map(_decimals, known), default=0))
    width = max(len(unit) for _, _, unit in parts) if parts else 0
    return [
        f"{float(number.replace(',', '')):,.{decimals}f} {unit:<{width}}" if unit else number
        for number, _, unit in parts
    ]


def _decimals(text: str) -> int:
    return 0 if "e" in text else len(text.partition(".")[2])


def moment(seconds: float | None) -> str:
    """Format a time in the local time zone."""
    if seconds is None:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def day(seconds: float | None) -> str:
    """Format a time as a date in the local time zone."""
    return moment(seconds).partition(" ")[0]


def span(seconds: float | None) -> str:
    """Format a duration in the largest unit of which it has at least two."""
    if seconds is None:
        return "-"
    for unit, name in (("d", "days"), ("h", "h"), ("m", "min")):
        if abs(seconds) >= 2 * UNITS[unit]:
            count = seconds / UNITS[unit]
            return f"{count:,.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return f"{seconds:.3g} s"


def age(seconds: float | None) -> str:
    """Format how long ago a time was."""
    return "-" if seconds is None else f"{span(round(max(0.0, time.time() - seconds)))} ago"
