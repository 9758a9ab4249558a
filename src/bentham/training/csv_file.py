"""Checks of a CSV file before it is read as a table.

They find out whether it is text, how its values are separated, and whether every line has as many
values as the header. Pandas would silently pad and cut lines.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bentham.file_kinds import AS_UTF8, not_csv
from bentham.training.dataset import MOST_COLUMNS
from bentham.training.refusals import FileRefused, check_shape, shown
from bentham.wording import counted

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LONGEST_LINE = 2**22
LONGEST_VALUE = 2**17
CHUNK = 2**20
SAMPLE = 50  # lines used to detect the delimiter


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a CSV file."""

    delimiter: str
    names: list[str]  # as in the header, without spaces around them; some may be empty
    rows: int
    padded: bool  # whether there were spaces around names


def layout_of(path: Path) -> Layout:
    """Read through the whole file once; raise if it is not a table."""
    _check_bytes(path)
    with open(path, encoding="utf-8-sig", newline="") as lines:
        delimiter = _delimiter(list(islice(lines, SAMPLE)))
    names: list[str] = []
    rows, padded = 0, False
    for line, values in _records(path, delimiter):
        if not names:
            names = [value.strip(" \t") for value in values]
            padded = names != values
            _check_header(names)
        elif len(values) != len(names):
            raise FileRefused(_ragged(line, len(values), len(names), delimiter))
        else:
            rows += 1
            if rows % 100_000 == 0:
                check_shape(rows, len(names))
    check_shape(rows, len(names))
    return Layout(delimiter, names, rows, padded)


def _check_bytes(path: Path) -> None:
    with open(path, "rb") as file:
        chunk = file.read(CHUNK)
        if not chunk.strip(b"\xef\xbb\xbf \t\r\n"):
            raise FileRefused(
                "the file is empty; a CSV file has a line of column names, then one line per row"
            )
        if other := not_csv(chunk):
            raise FileRefused(other)
        line, length, rest = 1, 0, b""
        while chunk:
            _check_text(rest + chunk, line)
            parts = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            for number, part in enumerate(parts):
                length = len(part) + (length if number == 0 else 0)
                if length > LONGEST_LINE:
                    raise FileRefused(
                        f"line {line + number} is longer than {LONGEST_LINE >> 20} MiB, too long "
                        f"for a row of up to {MOST_COLUMNS:,} columns; check that each row ends "
                        "with a line break"
                    )
            line += len(parts) - 1
            rest = _unfinished(rest + chunk)
            chunk = file.read(CHUNK)
        if rest:
            raise FileRefused(f"the file ends in the middle of a character; {AS_UTF8}")


def _check_text(chunk: bytes, line: int) -> None:
    if b"\0" in chunk:
        at = line + chunk[: chunk.index(b"\0")].count(b"\n")
        raise FileRefused(f"line {at} contains a NUL byte, so this is not UTF-8 text; {AS_UTF8}")
    complete = chunk[: len(chunk) - len(_unfinished(chunk))]
    try:
        complete.decode()
    except UnicodeDecodeError as error:
        at = line + complete[: error.start].count(b"\n")
        raise FileRefused(
            f"line {at} is not in UTF-8 (byte 0x{complete[error.start]:02X}); {AS_UTF8}"
        ) from None


def _unfinished(chunk: bytes) -> bytes:
    """Return the incomplete character at the end of a chunk; its rest is in the next chunk."""
    for back in range(1, min(4, len(chunk)) + 1):
        byte = chunk[-back]
        if byte & 0xC0 == 0x80:  # a continuation byte
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return chunk[-back:] if length > back else b""
    return b""


def _delimiter(lines: list[str]) -> str:
    """Return the delimiter that gives most lines the header's length, then the longest header."""
    if lines and lines[0].lower().startswith("sep="):
        raise FileRefused(
            f"the first line is {shown(lines[0].strip())}, meant for a spreadsheet; remove it"
        )

    def fit(delimiter: str) -> tuple[float, int]:
        counts = [
            len(values)
            for values in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
            if not _is_blank(values)
        ]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(count == counts[0] for count in counts) / len(counts), counts[0]

    csv.field_size_limit(LONGEST_LINE)
    best = max(DELIMITERS, key=fit)
    if fit(best) == (0.0, 0):
        raise FileRefused(
            "there is only one column: no comma, semicolon, tab or vertical bar in the header "
            f"({shown(lines[0].strip())}); a target and a column to learn it from are required"
        )
    return best


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the values of each row, without blank lines."""
    csv.field_size_limit(LONGEST_VALUE)
    with open(path, encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FileRefused(_broken(line, str(error))) from None
            if not _is_blank(values):
                yield line, values


def _is_blank(values: list[str]) -> bool:
    return not values or (len(values) == 1 and not values[0].strip())


def _broken(line: int, error: str) -> str:
    if "end of data" in error:
        return f'a quote (") in the row that starts in line {line} is never closed; close it'
    if "field larger" in error:
        return (
            f"a value in the row that starts in line {line} is longer than {LONGEST_VALUE >> 10} "
            'KiB; shorten it, or close the quote (") that it starts with'
        )
    return (
        f"line {line} cannot be read ({error}); a quoted value ends with its second quote, and "
        'a quote inside it is written twice ("")'
    )


def _ragged(line: int, found: int, expected: int, delimiter: str) -> str:
    hint = "quote values that contain the separator, or correct the line"
    if found == expected + 1:
        hint = "if each line starts with a row number, name that column, too; otherwise " + hint
    return (
        f"line {line} has {counted(found, 'value')}, but the header names {expected:,} columns "
        f"(separated by {DELIMITERS[delimiter]}); {hint}"
    )


def _check_header(names: list[str]) -> None:
    if len(names) > 2 and sum(map(bool, names)) == 1:
        raise FileRefused(
            f"the first line names only one of {len(names):,} columns "
            f"({shown(''.join(names))}), so it looks like a title; remove it"
        )
    if len(names) > MOST_COLUMNS:
        raise FileRefused(
            f"there are {len(names):,} columns, at most {MOST_COLUMNS:,} are allowed; leave some "
            "out"
        )
