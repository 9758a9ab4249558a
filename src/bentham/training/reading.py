"""Reads a file as a table, in the same way for the inspection, the trials and the scripts.

The sources of these functions are copied into every exported script, so they use only pandas.
"""

import pandas as pd

# Texts that stand for a missing value.
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "-"]


def read_table(path: str, delimiter: str | None) -> pd.DataFrame:
    """Return all columns as texts; without a delimiter, as a Parquet file stores them."""
    if delimiter is None:
        table = pd.read_parquet(path)
        table.columns = pd.Index([str(name) for name in table.columns], dtype="object")
        return table
    table = pd.read_csv(
        path,
        sep=delimiter,
        dtype=str,
        keep_default_na=False,
        na_values=MISSING,
        skipinitialspace=True,
        index_col=False,
        encoding="utf-8-sig",
    )
    names = [str(name).strip(" \t") for name in table.columns]
    unnamed = [name or f"Unnamed: {at}" for at, name in enumerate(names)]
    table.columns = pd.Index(unnamed, dtype="object")
    return table


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column as floats; values that are not finite numbers become missing."""
    numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    return numbers.where(numbers.abs() < float("inf"))


def as_categories(column: pd.Series) -> pd.Series:
    """Return a column as texts; missing and infinite values become None.

    Whole numbers have no decimal point: if a value is missing, Parquet gives the others as floats.
    """
    values = column.astype("object")
    usable = values.notna() & ~values.isin([float("inf"), float("-inf")])
    return values.where(usable, None).map(
        lambda value: (
            str(int(value))
            if isinstance(value, float) and value % 1 == 0 and abs(value) < 2**53
            else str(value)
        ),
        na_action="ignore",
    )
