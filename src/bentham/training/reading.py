"""Reads a file as a table, in the same way for the inspection, the trials and the scripts.

The sources of these functions are copied into every exported script, so they use only pandas.
"""

import pandas as pd

# Texts that stand for a missing value, in lower case.
MISSING = ["", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "?", "-", "--"]


def read_table(path: str, delimiter: str | None) -> pd.DataFrame:
    """Return all columns as texts; without a delimiter, as a Parquet file stores them."""
    if delimiter is None:
        table = pd.read_parquet(path)
        table.columns = pd.Index([str(name) for name in table.columns], dtype="object")
        return table.apply(without_spaces)
    table = pd.read_csv(
        path,
        sep=delimiter,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
        skipinitialspace=True,
        index_col=False,
        encoding="utf-8-sig",
    )
    names = [str(name).strip(" \t") for name in table.columns]
    unnamed = [name or f"Unnamed: {at}" for at, name in enumerate(names)]
    table.columns = pd.Index(unnamed, dtype="object")
    return table.apply(without_spaces)


def without_spaces(column: pd.Series) -> pd.Series:
    """Return a column of texts without spaces around them, and without texts for missing values."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column
    other: dict[str, str | None] = {}
    for text in column.dropna().unique():
        short = text.strip()
        if short.lower() in MISSING:
            other[text] = None
        elif short != text:
            other[text] = short
    if not other:
        return column
    changed = column.isin(list(other))
    return column.mask(changed, column[changed].map(other).astype("object"))


def as_numbers(column: pd.Series, decimal_comma: bool = False) -> pd.Series:
    """Return a column as floats; values that are not finite numbers become missing.

    Thousands separators and the signs of currencies and percent are left out: $1,200.50 is 1200.5,
    12 % is 12, and (5) is -5. With `decimal_comma`, 1.200,50 is 1200.5.
    """
    if decimal_comma and not pd.api.types.is_numeric_dtype(column.dtype):
        numbers = pd.Series(float("nan"), column.index, dtype="float64")
    else:
        numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    left = numbers.isna() & column.notna()
    if left.any():
        written = column[left].astype("object")
        short = written.map(lambda value: isinstance(value, str) and len(value) <= 40)
        written = written[short.astype("bool")].astype("str")
        written = written.str.strip().str.replace(r"\s+", " ", regex=True)
        minus, group = r"[-\u2212]", r"\s'\u2019"  # the signs for minus, and other separators
        group, point = (f"[.{group}]", ",") if decimal_comma else (f"[,{group}]", r"\.")
        money = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|kr|zł)"
        digits = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?:{point}\d*)?|\d+(?:{point}\d*)?|{point}\d+"
        found = written.str.extract(
            rf"^(\()? ?({minus}|\+)? ?{money}? ?({minus})? ?({digits}) ?(?:%|{money})? ?(\))?$"
        )
        plain = found[3].str.replace(group, "", regex=True).str.replace(",", ".")
        values = pd.to_numeric(plain, errors="coerce").astype("float64")
        opened, closed = found[0].notna(), found[4].notna()
        negative = (found[1].notna() & (found[1] != "+")) | found[2].notna() | opened
        numbers[written.index] = values.where(~negative, -values).where(opened == closed)
    return numbers.where(numbers.abs() < float("inf"))


def as_categories(column: pd.Series, any_spelling: bool = False) -> pd.Series:
    """Return a column as texts; missing and infinite values become None.

    Whole numbers have no decimal point: if a value is missing, Parquet gives the others as floats.
    With `any_spelling`, upper and lower case and the number of spaces make no difference.
    """
    values = column.astype("object")
    usable = values.notna() & ~values.isin([float("inf"), float("-inf")])
    texts = values.where(usable, None).map(
        lambda value: (
            str(int(value))
            if isinstance(value, float) and value % 1 == 0 and abs(value) < 2**53
            else str(value)
        ),
        na_action="ignore",
    )
    if not any_spelling:
        return texts
    return texts.map(lambda text: " ".join(text.lower().split()), na_action="ignore")


def as_yes_no(column: pd.Series) -> pd.Series:
    """Return a column as 1 for yes, true and the like, 0 for no and false; others are missing."""
    words = {
        **dict.fromkeys(["yes", "y", "true", "t", "on", "1", "ja", "oui", "si", "sí"], 1.0),
        **dict.fromkeys(["no", "n", "false", "f", "off", "0", "nein", "non"], 0.0),
    }
    return as_categories(column, True).map(words).astype("float64")


def date_parts(column: pd.Series, order: str) -> pd.DataFrame:
    """Return dates and times as numbers: year, month, weekday, days since 1970-01-01, and hour.

    `order` says how 01/02/2024 is read: "day-first", "month-first", or "date" (not at all). Dates
    that begin with the year, or name the month, are always read. Anything else becomes missing.
    """
    names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.dt.strftime("%Y-%m-%dT%H:%M:%S")
    codes, distinct = pd.factorize(column.astype("object").map(str, na_action="ignore"))
    texts = pd.Series([text if len(text) <= 40 else "" for text in distinct], dtype="str")
    first, second = ("day", "month") if order == "day-first" else ("month", "day")
    forms = [
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        r"(?P<year>[12]\d{3})(?P<month>[01]\d)(?P<day>[0-3]\d)",
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[-\s.]+(?P<name>[A-Za-z]{3,9})[-\s.,]+(?P<year>\d{4}|\d\d)",
        r"(?P<name>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})",
        rf"(?P<{first}>\d{{1,2}})[-/.](?P<{second}>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d\d)",
    ]
    clock = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::\d{2}(?:[.,]\d+)?)?\s*(?P<half>[AaPp][Mm])?"
    zone = r"(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
    dated = [rf"^{form}(?:[T\s]+{clock}{zone})?$" for form in forms]
    kept = ["year", "month", "day", "hour"]
    found = pd.DataFrame(index=texts.index, columns=kept, dtype="float64")
    for form in [*dated[: 4 if order == "date" else 5], rf"^{clock}$"]:
        left = texts[found.isna().all(axis=1)]
        parts = left.str.extract(form)
        if "name" in parts:
            number = {name: place for place, name in enumerate(names, start=1)}
            parts["month"] = parts["name"].str[:3].str.lower().map(number)
        if "year" in parts:
            years = pd.to_numeric(parts["year"])
            century = 1900 + 100 * (years < 69)  # of two digits
            parts["year"] = years + century.where(parts["year"].str.len() == 2, 0)
        hours, half = pd.to_numeric(parts["hour"]), parts["half"].str.lower()
        hours = hours.where(half.isna(), hours % 12 + 12 * (half == "pm"))
        parts["hour"] = hours + pd.to_numeric(parts["minute"]) / 60.0
        for part in parts.columns.intersection(kept):
            found.loc[left.index, part] = pd.to_numeric(parts[part])
    dates = pd.to_datetime(found[["year", "month", "day"]], errors="coerce")
    read = pd.DataFrame(
        {
            "year": dates.dt.year.astype("float64"),
            "month": dates.dt.month.astype("float64"),
            "weekday": dates.dt.day_of_week.astype("float64"),
            "days": (dates - pd.Timestamp(0)).dt.days.astype("float64"),
            # Without a date, only the time of day by itself counts.
            "hour": found["hour"].where(
                (found["hour"] < 24.0) & (dates.notna() | found["year"].isna())
            ),
        }
    )
    return read.reindex(codes).set_axis(column.index)  # the code of a missing value is -1
