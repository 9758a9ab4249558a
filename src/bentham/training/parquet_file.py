"""Checks of a Parquet file before it is read as a table, by its metadata."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bentham.training.dataset import MOST_COLUMNS
from bentham.training.refusals import FileRefused, check_shape

LARGEST = 2**31  # bytes of all values, uncompressed
BINARY = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def names_in(path: Path) -> tuple[list[str], int]:
    """Return the column names and the number of rows; raise if the table would be too large."""
    with open(path, "rb") as file:
        if file.read(4) != b"PAR1":
            raise FileRefused("this is not a Parquet file; upload CSV as CSV, or write it again")
    try:
        with pq.ParquetFile(path, memory_map=False) as parquet:
            metadata, names = parquet.metadata, list(parquet.schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileRefused(
            f"the Parquet file is damaged or cut short ({_first_line(error)}); write it again"
        ) from None
    size = sum(
        metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)
    )
    if metadata.num_columns > MOST_COLUMNS:
        raise FileRefused(
            f"there are {metadata.num_columns:,} columns, at most {MOST_COLUMNS:,} are allowed; "
            "leave some out"
        )
    check_shape(metadata.num_rows, metadata.num_columns)
    if size > LARGEST:
        raise FileRefused(
            f"its values take {size >> 20:,} MiB when unpacked, at most {LARGEST >> 20:,} MiB are "
            "allowed; draw a sample of the rows, or leave out columns"
        )
    return names, metadata.num_rows


def odd_types(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the columns that hold neither numbers nor texts, with what they hold."""
    for field in pq.read_schema(path):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind):
            yield field.name, "nested values"
        elif any(is_kind(kind) for is_kind in BINARY):
            yield field.name, "binary values"
        elif pa.types.is_temporal(kind) and not (
            pa.types.is_timestamp(kind) or pa.types.is_date(kind)
        ):
            yield field.name, "times of day or durations"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:150]
