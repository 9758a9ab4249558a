"""The type of a table's column: numbers, categories, or nothing to learn from."""

import re

import pandas as pd

from bentham.training.dataset import ColumnSummary, ColumnType
from bentham.training.reading import as_categories, as_numbers
from bentham.training.refusals import shown

MOSTLY = 0.95  # fraction of the present values; the others are then treated as errors
MANY_VALUES = 50
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([ T].{1,40})?"
)
DECIMAL_COMMA = re.compile(r"[+-]?[\d.]*,\d+")
ROW_NUMBER = re.compile(r"(.*[^a-z])?(id|index|idx|row|rownames|nr|no|key|unnamed: \d+)", re.I)
FORMULA = re.compile(r"[=+\-@\t\r]")
BOOLEANS = {"True", "False"}
SPLIT_DATES = "split them into numbers (year, month, days since), then upload again"


def odd_column(name: str, column: pd.Series, contents: str) -> ColumnSummary:
    """Summarize a column whose values are neither numbers nor texts."""
    remedy = SPLIT_DATES if "dates" in contents else "write them as columns of numbers or texts"
    return ColumnSummary(
        name=name, type="ignored", missing=int(column.isna().sum()), distinct=0, rarest=0,
        note=f"left out: holds {contents}; {remedy}",
    )  # fmt: skip


def describe(name: str, column: pd.Series) -> ColumnSummary:
    """Count the values of a column, infer its type and note what is unusual.

    Values of any type are counted as texts, as if they were classes.
    """
    counts = as_categories(column).value_counts()
    numbers = as_numbers(column)
    present, found = int(counts.sum()), int(numbers.notna().sum())
    has_numbers = pd.api.types.is_numeric_dtype(column.dtype)  # then infinite values are not errors
    numeric = found > 0 and (has_numbers or found >= MOSTLY * present)
    whole = bool(numeric and (numbers.dropna() % 1 == 0).all())
    declared = isinstance(column.dtype, pd.CategoricalDtype) or (
        len(counts) <= 2 and set(counts.index) <= BOOLEANS
    )
    kind: ColumnType
    if present == 0:
        kind, note = "ignored", "left out: all its values are missing"
    elif len(counts) == 1 and present == len(column):
        kind, note = "ignored", f"left out: it has only one value, {shown(counts.index[0])}"
    elif declared:
        kind, note = "category", ""
    elif not numeric:
        kind, note = _type_of_texts(counts)
    elif whole and len(counts) == len(column) and ROW_NUMBER.fullmatch(name):
        kind, note = "ignored", "left out: it numbers the rows; set its type to number to use it"
    else:
        kind, note = "number", _note_on_numbers(column, numbers, counts)
    return ColumnSummary(
        name=name, type=kind, missing=len(column) - present, distinct=len(counts),
        rarest=int(counts.min()) if present else 0, singles=int((counts == 1).sum()),
        whole=whole, numeric=numeric, note=note,
    )  # fmt: skip


def _type_of_texts(counts: pd.Series) -> tuple[ColumnType, str]:
    present, texts = int(counts.sum()), counts.index.to_series()
    if _share(counts, texts.str.fullmatch(DATE)) >= MOSTLY:
        return "ignored", f"left out: holds dates; {SPLIT_DATES}"
    many = len(counts) > MANY_VALUES and len(counts) > present / 2
    if _share(counts, texts.str.fullmatch(DECIMAL_COMMA)) >= MOSTLY:
        kind: ColumnType = "ignored" if many or len(counts) == present else "category"
        treatment = "left out" if kind == "ignored" else "treated as categories"
        return kind, f"{treatment}: its numbers have a decimal comma; write them with a point (1.5)"
    if many or len(counts) == present:
        return "ignored", (
            f"left out: {len(counts):,} distinct texts in {present:,} rows, such as names or free "
            "text, are of little use to a model; group them into a few, or set its type to category"
        )
    return "category", ""


def _share(counts: pd.Series, chosen: pd.Series) -> float:
    return float(counts[chosen.to_numpy()].sum() / counts.sum())


def _note_on_numbers(column: pd.Series, numbers: pd.Series, counts: pd.Series) -> str:
    invalid = column[numbers.isna() & column.notna()]
    if len(invalid):
        return (
            f"{len(invalid)} of its values are not numbers, such as {shown(invalid.iloc[0])}, and "
            "count as missing; correct them, or set its type to category"
        )
    if len(counts) <= MANY_VALUES and numbers.nunique() < len(counts):
        return (
            "some numbers are written in several ways (1 and 1.0); as classes, these are different"
        )
    return ""


def formulas_in(column: pd.Series) -> int:
    """Return the number of values that a spreadsheet would treat as formulas."""
    texts = as_categories(column).dropna().astype("str")
    return int(as_numbers(texts[texts.str.match(FORMULA)]).isna().sum())
