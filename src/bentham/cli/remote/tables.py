"""Tables that fit the width of the terminal without breaking words.

A column that wraps breaks lines at spaces and hyphens. If the rest still does not fit, optional
columns are left out, and a line below the table says which.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

# Words of up to this length are never broken, and a column that wraps is at least this wide.
LONGEST_WORD, NARROWEST = 24, 16
FRAME = 3  # characters per column: its border and a space on either side
# Between words, and after a hyphen, underscore, slash or dot between two words.
_SPACES = re.compile(r"\s+")
_JOINTS = re.compile(r"(?<=\w[-_/.])(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        name: Its heading.
        shown: Formats the values of all rows together, each on one line.
        right: Whether values are aligned right.
        wraps: Whether its texts may take several lines.
        optional: 0 if it is always shown; otherwise columns of higher numbers are left out first.
    """

    name: str
    shown: Callable[[Sequence[Any]], list[str]]
    right: bool = False
    wraps: bool = False
    optional: int = 0


@dataclass(slots=True)
class FittingTable:
    """A table whose columns are laid out for the width that there is."""

    columns: Sequence[TableColumn]
    title: str | None = None
    _rows: list[tuple[Any, ...]] = field(default_factory=list)
    _styles: list[str | None] = field(default_factory=list)
    _sections: set[int] = field(default_factory=set)

    def add_row(self, *values: Any, style: str | None = None) -> None:
        """Add a row with one value per column."""
        if len(values) != len(self.columns):
            raise ValueError(f"{len(values)} values for {len(self.columns)} columns")
        self._rows.append(values)
        self._styles.append(style)

    def add_section(self) -> None:
        """Draw a line below the last row."""
        self._sections.add(len(self._rows))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width it takes: that of the terminal at most."""
        return Measurement(1, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the table at the width of the terminal."""
        texts = self._texts()
        widths, left_out = _widths(self.columns, texts, options.max_width)
        grid = Grid(title=self.title and Text(self.title), title_justify="left", title_style="bold")
        for column, width in zip(self.columns, widths, strict=True):
            if width:
                grid.add_column(
                    _broken(column.name, width),
                    justify="right" if column.right else "left",
                    width=width,
                )
        for at, (row, style) in enumerate(zip(zip(*texts, strict=True), self._styles, strict=True)):
            if at in self._sections:
                grid.add_section()
            cells = [_broken(text, width) for text, width in zip(row, widths, strict=True) if width]
            grid.add_row(*cells, style=style)
        yield grid
        if left_out:
            yield Text(
                f"Left out, since the terminal is narrow: {', '.join(left_out)}.", style="dim"
            )

    def _texts(self) -> list[list[str]]:
        """Return the texts of each column."""
        values = zip(*self._rows, strict=True) if self._rows else ([] for _ in self.columns)
        return [column.shown(own) for column, own in zip(self.columns, values, strict=True)]


def _widths(
    columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], width: int
) -> tuple[list[int], list[str]]:
    """Return the width of each column, 0 if it is left out, and the names of those left out."""
    complete, headed, least = [], [], []
    for column, own in zip(columns, texts, strict=True):
        heading = max(map(cell_len, column.name.split(" ")))
        longest = max([heading, *map(cell_len, own)])
        complete.append(longest)
        headed.append(max(longest, cell_len(column.name)))
        if column.wraps:
            words = [cell_len(word) for text in own for word, _ in _words(text)]
            wrapped = max([min(longest, NARROWEST), *words])
            longest = max(heading, min(wrapped, LONGEST_WORD))
        least.append(longest)
    kept = list(range(len(columns)))
    optional = [at for at in kept if columns[at].optional]
    for at in sorted(optional, key=lambda at: (-columns[at].optional, -at)):
        if _taken([least[at] for at in kept]) <= width:
            break
        kept.remove(at)
    given = {at: least[at] for at in kept}
    _shrink(given, columns, _taken(list(given.values())) - width)
    for wanted in (complete, headed):  # a heading on two lines is better than a value on two
        _grow(given, wanted, width - _taken(list(given.values())))
    left_out = [column.name for at, column in enumerate(columns) if at not in given]
    return [given.get(at, 0) for at in range(len(columns))], left_out


def _taken(widths: Sequence[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(widths) + FRAME * len(widths) + 1


def _shrink(given: dict[int, int], columns: Sequence[TableColumn], excess: int) -> None:
    """Make the widest columns narrower if even the necessary ones do not fit: words are broken."""
    for _ in range(excess):
        widest = max(given, key=lambda at: (columns[at].wraps and given[at] > 4, given[at]))
        given[widest] = max(1, given[widest] - 1)


def _grow(given: dict[int, int], wanted: Sequence[int], spare: int) -> None:
    """Give the spare width to the columns that need the least more, so that most are complete."""
    for at in sorted(given, key=lambda at: wanted[at] - given[at]):
        more = max(0, min(spare, wanted[at] - given[at]))
        given[at] += more
        spare -= more


def _words(text: str) -> list[tuple[str, str]]:
    """Split a text where lines may break; return pieces with what joins each to the next."""
    found = []
    for word in _SPACES.split(text):
        *first, last = _JOINTS.split(word)
        found += [(part, "") for part in first] + [(last, " ")]
    return found


def _broken(text: str, width: int) -> Text:
    """Break a text into lines of a width."""
    if cell_len(text) <= width:
        return Text(text)
    lines, line, join = [], "", ""
    for word, after in _words(text):
        for part in chop_cells(word, width) or [""]:
            if line and cell_len(line + join + part) > width:
                lines.append(line)
                line = part
            else:
                line += join + part if line else part
            join = ""
        join = after
    return Text("\n".join([*lines, line]))
