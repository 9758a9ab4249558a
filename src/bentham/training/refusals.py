"""Errors about files that cannot be datasets."""

from bentham.errors import InvalidInput

MOST_ROWS = 10_000_000
MOST_CELLS = 50_000_000


class FileRefused(InvalidInput):
    """A file cannot be a dataset; the text says why, and what to do."""


def shown(text: object) -> str:
    """Return a name or a value from a file, shortened and escaped for a line of text."""
    text = repr(str(text))  # before shortening: escapes make it longer
    return text if len(text) <= 42 else f"{text[:38]}...{text[0]}"


def listed(names: list[str], most: int = 5) -> str:
    """Return the first few names, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def check_shape(rows: int, columns: int) -> None:
    """Raise if a table is too large to read into memory, before it is read."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise FileRefused(
            f"the table has {rows:,} rows or more and {columns:,} columns; at most {MOST_ROWS:,} "
            f"rows and {MOST_CELLS:,} values can be used: draw a sample of the rows, or leave out "
            "columns"
        )
