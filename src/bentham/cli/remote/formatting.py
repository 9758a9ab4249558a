"""Output of the remote commands: tables, numbers, times, JSON."""

import re
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

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


def grid(columns: Sequence[str], title: str | None = None) -> Grid:
    """Return a table; '>' before a column's name aligns it right, '~' lets it wrap or crop."""
    table = Grid(title=title and Text(title), title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(
            Text(name.lstrip(">~")),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not name.startswith("~"),
        )
    return table


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


def wrapped(text: str) -> Text:
    """Return user text that wraps instead of being cropped, such as the name of a model."""
    return Text(plain(text).replace("\n", " "), overflow="fold")


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


def moment(seconds: float | None) -> str:
    """Format a time in the local time zone."""
    if seconds is None:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


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
