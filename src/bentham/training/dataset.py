"""A data file, and the result of its inspection."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_COLUMN = 200
MOST_COLUMNS = 2000
MOST_NOTES, LONGEST_NOTE = 100, 2000
# How a column is read. As numbers: number, decimal-comma (1.200,5), yes-no (1 or 0). As parts of a
# date: date (the year first, or the month by name), day-first, month-first. As one of a few values:
# category, any-spelling (upper and lower case make no difference). Or not at all: ignored.
ColumnType = Literal[
    "number", "decimal-comma", "yes-no", "date", "day-first", "month-first", "category",
    "any-spelling", "ignored",
]  # fmt: skip
NUMERIC: tuple[ColumnType, ...] = ("number", "decimal-comma", "yes-no")
DATES: tuple[ColumnType, ...] = ("date", "day-first", "month-first")
CATEGORIES: tuple[ColumnType, ...] = ("category", "any-spelling")
DATE_PARTS = ("year", "month", "weekday", "days", "hour")
Format = Literal["csv", "parquet"]


def is_storable(text: str) -> bool:
    """Whether every database can store the text: it has no NUL and no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


LONGEST_SAMPLE, MOST_SAMPLES, MOST_VALUES, MOST_PREDICTORS = 60, 3, 20, 5
Tally = Annotated[int, Field(ge=0, le=10**12)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(_storable)]
ColumnName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_COLUMN), AfterValidator(_storable)
]
Sample = Annotated[str, Field(max_length=LONGEST_SAMPLE), AfterValidator(_storable)]


class ColumnSummary(BaseModel):
    """One column: its inferred type, and the counts that a choice of target or type depends on.

    `missing` is the number of rows without a value as the column is read, `unread` those of them
    with a text that cannot be read so; `numbers` is the number of values that can be read as
    numbers. `distinct` is the number of distinct values or texts, `rarest` the number of rows of
    the rarest of them, and `singles` the number of values that occur in only one row. `whole`
    is true if all its numbers are whole. `samples` are a few values as written and as read.
    `values` are the most frequent values with their numbers of rows, for a column of few values.
    `predictors` are the columns that alone predict this one almost perfectly. `note` says what is
    unusual and how it is handled.
    """

    model_config = ConfigDict(frozen=True)

    name: ColumnName
    type: ColumnType
    missing: Tally
    distinct: Tally
    rarest: Tally
    unread: Tally = 0
    numbers: Tally | None = None  # None in files that older versions inspected
    singles: Tally = 0
    whole: bool = False
    numeric: bool = False  # whether it can be read as numbers, whatever its type
    samples: Annotated[list[tuple[Sample, Sample]], Field(max_length=MOST_SAMPLES)] = []
    values: Annotated[list[tuple[Sample, Tally]], Field(max_length=MOST_VALUES)] = []
    predictors: Annotated[list[ColumnName], Field(max_length=MOST_PREDICTORS)] = []
    note: Note = ""


class Inspection(BaseModel):
    """The result of inspecting an upload; `refusal` says why it cannot become a dataset.

    Sizes are limited, because a hostile file may have taken over the process that inspected it.
    """

    model_config = ConfigDict(frozen=True)

    refusal: Annotated[str, Field(max_length=LONGEST_NOTE)] = ""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    rows: Tally = 0
    columns: Annotated[list[ColumnSummary], Field(max_length=MOST_COLUMNS)] = []
    notes: Annotated[list[Note], Field(max_length=MOST_NOTES)] = []


@dataclass(frozen=True, slots=True)
class DataFile:
    """A stored file: its id, name and content hash, and the columns found in it."""

    id: str
    name: str
    hash: str
    format: Format
    delimiter: str  # between the values of a CSV line
    bytes: int
    rows: int
    columns: tuple[ColumnSummary, ...]
