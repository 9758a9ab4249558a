"""How a file becomes a table: one way for the inspection, the trials and the scripts.

The sources of these functions stand in every exported script, so they use nothing but pandas.
"""

import pandas as pd

# What stands for a value that is missing, besides nothing at all.
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "-"]


def read_table(path: str, delimiter: str | None) -> pd.DataFrame:
    """Every column as text, or as a Parquet file (no delimiter) holds it; missing is missing."""
    if delimiter is None:
        return pd.read_parquet(path)
    return pd.read_csv(
        path,
        sep=delimiter,
        dtype=str,
        keep_default_na=False,
        na_values=MISSING,
        skipinitialspace=True,
        index_col=False,
        encoding="utf-8-sig",
    )


def as_numbers(column: pd.Series) -> pd.Series:
    """A column as floats; what is no number, or not finite, is missing."""
    numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    return numbers.where(numbers.abs() < float("inf"))


def as_categories(column: pd.Series) -> pd.Series:
    """A column as texts; missing is None."""
    texts = column.astype("object")
    return texts.where(texts.notna(), None).map(str, na_action="ignore")
