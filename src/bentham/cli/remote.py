"""What the commands over a server share: how they read words, and how they print answers."""

import re
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bentham.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from pydantic import BaseModel

    from bentham.client import Client
    from bentham.wire import Study

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
STUDY_ID = re.compile(r"s_[0-9a-z]{16}")


# -- printing -----------------------------------------------------------------------------------


def print_json(answer: "BaseModel | Iterable[BaseModel]") -> None:
    """One JSON value, and nothing else."""
    from pydantic import BaseModel

    if isinstance(answer, BaseModel):
        print(answer.model_dump_json())
    else:
        print(f"[{', '.join(item.model_dump_json() for item in answer)}]")


def show(*parts: RenderableType) -> None:
    """Print for people, in the width of their terminal."""
    console = Console(highlight=False)
    for part in parts:
        console.print(part)


def grid(columns: Sequence[str], title: str | None = None) -> Grid:
    """A table; a column whose name begins with '>' is for numbers, with '~' may be cropped."""
    made = Grid(title=title and Text(title), title_justify="left", title_style="bold")
    for name in columns:
        made.add_column(
            Text(name.lstrip(">~")),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not name.startswith("~"),
        )
    return made


def fields(pairs: Iterable[tuple[str, str]]) -> Grid:
    """Names and values, one pair a line; long values go on below themselves."""
    made = Grid.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    for name, value in pairs:
        made.add_row(name, Text(plain(value)))
    return made


def cell(text: str) -> Text:
    """Somebody's words in a table: on one line, cropped where they are too long, never markup."""
    return Text(plain(text).replace("\n", " "), no_wrap=True, overflow="ellipsis")


def whole(text: str) -> Text:
    """A name of which the end matters, as of a model: what is too long goes on below itself."""
    return Text(plain(text).replace("\n", " "), overflow="fold")


def file_name(text: str) -> str:
    """Somebody's words as the name of a file in this folder, whatever they are."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.") or "unnamed"


def size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 2**10:,.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def plain(text: str) -> str:
    """Text that cannot steer a terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)


def plain_log(text: str) -> str:
    """What a program printed, without what steers a terminal; a return alone ends a line, too."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\t")
    return "\t".join(map(plain, lines))


def number(value: float | None) -> str:
    """Four significant digits."""
    if value is None:
        return "-"
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:.2e}"


def moment(seconds: float | None) -> str:
    """A time, as the clock on the wall shows it."""
    if seconds is None:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def span(seconds: float | None) -> str:
    """A length of time, in its largest fitting unit."""
    if seconds is None:
        return "-"
    for unit, name in (("d", "days"), ("h", "h"), ("m", "min")):
        if abs(seconds) >= 2 * UNITS[unit]:
            count = seconds / UNITS[unit]
            return f"{count:,.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return f"{seconds:.3g} s"


def age(seconds: float | None) -> str:
    """How long ago that was."""
    return "-" if seconds is None else f"{span(round(max(0.0, time.time() - seconds)))} ago"


# -- reading ------------------------------------------------------------------------------------


def seconds_of(option: str, text: str) -> float:
    """A length of time such as 90, 30m, 2h, 30d."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip(), re.ASCII)
    if match is None:
        raise InvalidInput(f"{option} is {text!r}; write a number and s, m, h, d or w, as in 30d")
    return float(match[1]) * UNITS[match[2] or "s"]


def time_of(option: str, text: str) -> float:
    """A time such as 2026-11-16T18:00 (here, unless it says where), or +2h from now."""
    if text.startswith("+"):
        return time.time() + seconds_of(option, text[1:])
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{option} is {text!r}; write a time as in 2026-11-16T18:00, or +2h from now"
        ) from None


def find_study(client: "Client", text: str) -> "Study":
    """A study by its id or, where only one has it, by its name."""
    if STUDY_ID.fullmatch(text):
        try:
            return client.study(text)
        except NotFound:
            pass  # somebody may have named a study so
    named = [study for study in client.studies() if study.name == text]
    if not named:
        raise NotFound(f"there is no study {text!r}; bentham study list shows those there are", 404)
    if len(named) > 1:
        some = ", ".join(study.id for study in named[:4])
        raise InvalidInput(f"{len(named)} studies are named {text!r}; say which by its id: {some}")
    return named[0]


def confirm(question: str, yes: bool) -> None:
    """Ask before what cannot be undone."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("this cannot be undone; say --yes to do it without being asked")
    typer.confirm(question, abort=True, err=True)
