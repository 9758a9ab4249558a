"""What is said about a file that cannot be a dataset."""

from bentham.errors import InvalidInput

MOST_ROWS = 10_000_000
MOST_CELLS = 50_000_000


class FileRefused(InvalidInput):
    """A file that cannot be a dataset; the text says why, and what to do."""


def shown(text: object) -> str:
    """A name or a value out of a file, short enough and safe to stand in a line of text."""
    text = repr(str(text))  # first: what cannot be printed gets longer by it
    return text if len(text) <= 42 else f"{text[:38]}...{text[0]}"


def listed(names: list[str], most: int = 5) -> str:
    """The first few of some names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def check_shape(rows: int, columns: int) -> None:
    """Refuse a table that is too large to be read into memory, before it is."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise FileRefused(
            f"the table has {rows:,} rows or more and {columns:,} columns; at most {MOST_ROWS:,} "
            f"rows and {MOST_CELLS:,} values can be used: draw a sample of the rows, or leave out "
            "columns"
        )
