"""A data file, and the result of its inspection."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_COLUMN = 200
MOST_COLUMNS = 2000
MOST_NOTES, LONGEST_NOTE = 100, 2000
# A number, one of a few values, or not used for learning.
ColumnType = Literal["number", "category", "ignored"]
Format = Literal["csv", "parquet"]


def is_storable(text: str) -> bool:
    """Whether every database can store the text: it has no NUL and no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


Tally = Annotated[int, Field(ge=0, le=10**12)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(_storable)]
ColumnName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_COLUMN), AfterValidator(_storable)
]


class ColumnSummary(BaseModel):
    """One column: its inferred type, and the counts that a choice of target or type depends on.

    `distinct` is the number of distinct values that are not missing, `rarest` the number of rows
    of the rarest of them, and `singles` the number of values that occur in only one row. `whole`
    is true if all its numbers are whole. `note` says what is unusual and how it is handled.
    """

    model_config = ConfigDict(frozen=True)

    name: ColumnName
    type: ColumnType
    missing: Tally
    distinct: Tally
    rarest: Tally
    singles: Tally = 0
    whole: bool = False
    numeric: bool = False  # whether it can be read as numbers, whatever its type
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
