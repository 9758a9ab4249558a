"""Datasets: the tables that tenants upload, and what was found in them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bentham.wire.base import LONGEST_TEXT, Name, RequestBody, ResponseBody

LONGEST_COLUMN = 200
MOST_COLUMNS = 2000
# How a column is read: as numbers (with a decimal point or comma, yes and no as 1 and 0), as dates,
# as one of a few values (any-spelling: upper and lower case make no difference), or not at all.
ColumnType = Literal[
    "number", "decimal-comma", "yes-no", "date", "day-first", "month-first", "category",
    "any-spelling", "ignored",
]  # fmt: skip
Format = Literal["csv", "parquet"]
CONTENT_TYPES: dict[str, Format] = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


def _storable(text: str) -> str:
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("contains a character that cannot be stored; rename the column")
    return text


ColumnName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_COLUMN), AfterValidator(_storable)
]


Tally = Annotated[int, Field(ge=0, le=10**12)]
Note = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_storable)]


class Column(ResponseBody):
    """A column: its inferred type, and what the choice of target or type depends on.

    `missing` is the number of rows without a value as the column is read, including the `unread`
    ones that hold a text which cannot be read so. `distinct` is the number of distinct values or
    texts, `rarest` the number of rows with the rarest of them, and `singles` the number of values
    that occur in only one row. `whole` means that all its numbers are integers. `samples` are a few
    values, as written and as read. `values` are the most frequent values with their numbers of
    rows, if the column has few values. `predictors` are columns that alone predict this one almost
    perfectly. `note` describes irregularities and how they are handled.
    """

    name: ColumnName
    type: ColumnType
    missing: Tally
    unread: Tally = 0
    numbers: Tally | None = None  # how many values can be read as numbers; None: not counted
    distinct: Tally
    rarest: Tally
    singles: Tally = 0
    whole: bool = False
    numeric: bool = False  # whether it can be parsed as numbers, whatever its type
    samples: list[tuple[str, str]] = []
    values: list[tuple[str, int]] = []
    predictors: list[str] = []
    note: Note = ""


class DatasetChange(RequestBody):
    """Another name of a dataset."""

    name: Name


class DatasetView(ResponseBody):
    """A table of data. `tenant` is empty if the operator installed it for all tenants.

    `width` is the number of columns; `columns` is empty in lists of datasets.
    """

    id: str
    tenant: str
    name: str
    hash: str
    format: Format
    delimiter: str  # between the values of a CSV line
    bytes: int
    rows: int
    width: int
    columns: list[Column]
    notes: list[str]
    created: float
