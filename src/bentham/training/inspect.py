"""Inspects a file before it becomes a dataset: `python -m bentham.training.inspect PATH`.

Uploads may be hostile, and file readers are large programs. So the service runs this in a separate
process, which limits its own memory and CPU time. It prints one line of JSON, for a refusal, too.
If it ends without that line, it exceeded a limit or crashed on the file.
"""

import argparse
import resource
import signal
import sys
from collections import Counter
from math import ceil
from pathlib import Path
from time import process_time
from types import FrameType
from typing import NoReturn

import pandas as pd

from bentham.training.columns import describe, formulas_in, odd_column
from bentham.training.csv_file import DELIMITERS, layout_of
from bentham.training.dataset import (
    LONGEST_COLUMN,
    NUMERIC,
    ColumnSummary,
    Format,
    Inspection,
    is_storable,
)
from bentham.training.leakage import predictors, sampled
from bentham.training.reading import as_numbers, read_table
from bentham.training.refusals import FileRefused, listed, shown
from bentham.training.written_numbers import uses_decimal_comma

LEAST_ROWS = 10
MEMORY_MIB, SECONDS = 4096, 60  # defaults
TRIED = 10  # columns of numbers among which one shows that the last row is a total
PRECISION, FAR = 1e-4, 2.0
GRACE_SECONDS = 5  # from SIGXCPU to the kill


def inspect_file(path: Path, format: Format) -> Inspection:  # noqa: A002 - the name in datasets
    """Describe the columns of a file and what is unusual, or why it cannot be a dataset."""
    try:
        return _inspect(path, format)
    except FileRefused as refusal:
        return Inspection(refusal=str(refusal))
    except MemoryError:
        return Inspection(
            refusal="the table needs more memory than is allowed here; draw a sample of the rows, "
            "or leave out columns"
        )
    except Exception as error:  # a reader may raise anything on hostile bytes
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        detail = " ".join(reason.replace(str(path), "the file").split())[:200]
        return Inspection(refusal=f"the file cannot be read as {format} ({detail}); write it again")


def _inspect(path: Path, format: Format) -> Inspection:  # noqa: A002
    notes: list[str] = []
    odd_columns: dict[str, str] = {}
    if format == "csv":
        layout = layout_of(path)
        names = [name or f"Unnamed: {at}" for at, name in enumerate(layout.names)]
        rows, delimiter = layout.rows, layout.delimiter
        notes = _header_notes(layout.names, delimiter)
        if layout.padded:
            notes.append("spaces around column names are removed")
    else:
        # Imported only here, so that CSV files are read without this library.
        from bentham.training.parquet_file import names_in, odd_types

        (names, rows), delimiter = names_in(path), ","
        odd_columns = dict(odd_types(path))
    _check_names(names)
    if rows < LEAST_ROWS:
        raise FileRefused(
            f"there {'is 1 row' if rows == 1 else f'are {rows} rows'} of data; at least "
            f"{LEAST_ROWS} are required, since some are held out to evaluate models; add rows"
        )
    table = read_table(str(path), delimiter if format == "csv" else None)
    _check_same(table, names, rows, format)
    comma = format == "csv" and uses_decimal_comma(table[name] for name in table.columns)
    sample, columns = sampled(table), []
    numbers: dict[str, pd.Series] = {}  # of the sample, so that they are read only once
    for name in map(str, table.columns):
        if name in odd_columns:
            columns.append(odd_column(name, table[name], odd_columns[name]))
        else:
            summary, read = describe(name, table[name], comma)
            columns.append(summary)
            numbers[name] = read if sample is table else read[sample.index]
    alone = predictors(sample, columns, numbers)
    columns = [
        column.model_copy(update={"predictors": alone[column.name]})
        if column.name in alone
        else column
        for column in columns
    ]
    if all(column.missing == rows for column in columns):
        raise FileRefused("every value is missing; check how the file was written")
    notes += [*_total_notes(table, columns), *_formula_notes(table, columns)]
    return Inspection(delimiter=delimiter, rows=rows, columns=columns, notes=notes)


def _check_names(names: list[str]) -> None:
    for name in names:
        if len(name) > LONGEST_COLUMN:
            raise FileRefused(
                f"the name of a column has {len(name):,} characters ({shown(name)}), at most "
                f"{LONGEST_COLUMN} are allowed; shorten it, or add a line of names if there is none"
            )
        if not name or not is_storable(name):
            raise FileRefused(
                f"a column has the name {shown(name)}, which cannot be stored; rename it"
            )
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        raise FileRefused(
            f"more than one column has the name {listed(duplicates)}; rename them, or add a line "
            "of names if there is none"
        )
    if len(names) < 2:
        raise FileRefused(
            "there is only one column; a target and a column to learn it from are required"
        )


def _check_same(table: pd.DataFrame, names: list[str], rows: int, format: Format) -> None:  # noqa: A002
    """Raise unless the table that trials will read is the one that was inspected."""
    found = list(table.columns)
    if format == "parquet" and set(found) < set(names):
        return  # pandas reads a column that it wrote as the index as the index again
    if found != names or len(table) != rows:
        if (len(found), len(table)) == (len(names), rows):
            other = next(pair for pair in zip(names, found, strict=True) if pair[0] != pair[1])
            raise FileRefused(
                f"a column has two names, {shown(other[0])} and {shown(str(other[1]))}, depending "
                "on how the file is read; rename it, and write the file again"
            )
        raise FileRefused(
            f"the file can be read in two ways: as {rows:,} rows of {len(names)} columns and as "
            f"{len(table):,} rows of {len(found)}; check quotes, blank lines and names, and write "
            "it again"
        )


def _header_notes(names: list[str], delimiter: str) -> list[str]:
    notes = []
    if delimiter != ",":
        notes.append(f"values are separated by {DELIMITERS[delimiter]}")
    if unnamed := [f"Unnamed: {at}" for at, name in enumerate(names) if not name]:
        notes.append(f"columns without a name are named by their position: {listed(unnamed)}")
    if (numbers := int(as_numbers(pd.Series(names, dtype="str")).notna().sum())) > len(names) / 2:
        notes.append(
            f"{numbers} of {len(names)} columns have numbers as names; if the first line is data, "
            "add a line of names above it"
        )
    return notes


def _total_notes(table: pd.DataFrame, columns: list[ColumnSummary]) -> list[str]:
    """Return a note if the last row holds the sums of the others."""
    for column in [each for each in columns if each.type in ("number", "decimal-comma")][:TRIED]:
        numbers = as_numbers(table[column.name], column.type == "decimal-comma")
        above, last = numbers.iloc[:-1], float(numbers.iloc[-1])
        total = float(above.sum())
        close = abs(last - total) <= PRECISION * abs(total)
        if close and abs(total) > FAR * float(above.abs().max()):
            return [
                f"the last row looks like a total: its {shown(column.name)} is the sum of all "
                "others; remove it, or a model learns from it"
            ]
    return []


def _formula_notes(table: pd.DataFrame, columns: list[ColumnSummary]) -> list[str]:
    texts = [column.name for column in columns if column.type not in NUMERIC or column.unread]
    found = {name: count for name in texts if (count := formulas_in(table[name]))}
    if not found:
        return []
    return [
        f"{sum(found.values()):,} values of {listed(list(found))} start like formulas (=, +, -, @ "
        "or a tab); they are stored as plain text and never evaluated, but a spreadsheet that "
        "opens them may evaluate them"
    ]


def _limit(memory_mib: int, seconds: int) -> None:
    def too_slow(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        raise FileRefused(
            f"reading the table takes more than {seconds} s of CPU time; draw a sample of the "
            "rows, or leave out columns"
        )

    signal.signal(signal.SIGXCPU, too_slow)
    seconds_at_end = seconds + ceil(process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (seconds_at_end, seconds_at_end + GRACE_SECONDS))
    if sys.platform == "linux":  # elsewhere a process may map more from the start
        resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    """Inspect the file named on the command line."""
    parser = argparse.ArgumentParser(
        prog="bentham.training.inspect", description=inspect_file.__doc__
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--memory", type=int, default=MEMORY_MIB, help="address space in MiB")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="CPU time in seconds")
    options = parser.parse_args()
    try:
        _limit(options.memory, options.seconds)
        inspection = inspect_file(options.path, options.format)
    except FileRefused as refusal:  # the CPU limit was reached outside `inspect_file`
        inspection = Inspection(refusal=str(refusal))
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    print(inspection.model_dump_json())
    return 0


if __name__ == "__main__":
    sys.exit(main())
