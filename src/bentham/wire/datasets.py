"""Datasets: what tenants upload, and what was found in them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bentham.wire.base import LONGEST_TEXT, ResponseBody

LONGEST_COLUMN = 200
MOST_COLUMNS = 2000
# A number, one of a few values, or nothing to learn from.
ColumnType = Literal["number", "category", "ignored"]
Format = Literal["csv", "parquet"]
CONTENT_TYPES: dict[str, Format] = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


def _storable(text: str) -> str:
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("holds a character that cannot be stored; rename the column")
    return text


ColumnName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_COLUMN), AfterValidator(_storable)
]


Tally = Annotated[int, Field(ge=0, le=10**12)]
Note = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]


class Column(ResponseBody):
    """One column: its type as inferred, and what a choice of target or type hangs on.

    `distinct` counts the values that are not missing, `rarest` the rows of the rarest of them,
    `singles` the values that stand in one row only; `whole` says that all its numbers are whole.
    `note` tells what was noticed, and done about it.
    """

    name: ColumnName
    type: ColumnType
    missing: Tally
    distinct: Tally
    rarest: Tally
    singles: Tally = 0
    whole: bool = False
    numeric: bool = False  # whether it can be read as numbers, whatever its type
    note: Note = ""


class DatasetView(ResponseBody):
    """A table of data. `tenant` is empty for one that the operator installed for everybody.

    `width` is how many columns there are; lists of datasets leave the columns themselves out.
    """

    id: str
    tenant: str
    name: str
    hash: str
    format: Format
    delimiter: str  # between the values of a line of CSV
    bytes: int
    rows: int
    width: int
    columns: list[Column]
    notes: list[str]
    created: float
