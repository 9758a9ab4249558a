"""Reads a file as a table, in the same way for the inspection, the trials and the scripts.

The sources of these functions are copied into every exported script, so they use only pandas.
"""

import re
from datetime import date

import pandas as pd

from bentham.training.words import MISSING, NO, YES


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
    if isinstance(column.dtype, pd.CategoricalDtype):
        plain = column.astype("object")
        changed = without_spaces(plain)
        return column if changed is plain else changed.astype("category")
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column
    written = column.dropna().unique().tolist()
    short = [text.strip() for text in written]
    lower, missing = [text.lower() for text in short], set(MISSING)
    if short == written and missing.isdisjoint(lower):
        return column
    other: dict[str, str | None] = {}
    for before, after, key in zip(written, short, lower, strict=True):
        if key in missing:
            other[before] = None
        elif before != after:
            other[before] = after
    changed = column.isin(list(other))
    return column.mask(changed, column[changed].map(other).astype("object"))


def as_numbers(column: pd.Series, decimal_comma: bool = False) -> pd.Series:
    """Return a column as floats; values that are not finite numbers become missing.

    Numbers may be written in many ways (see `number_parts`). `decimal_comma` only matters for
    values such as 1,234 and 1.234: any other value can be read in one way only.
    """
    if decimal_comma and not pd.api.types.is_numeric_dtype(column.dtype):
        numbers = pd.Series(float("nan"), column.index, dtype="float64")
    else:
        numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    left = numbers.isna() & column.notna()
    if left.any():
        codes, distinct = pd.factorize(column[left].astype("object"))
        written = pd.Series([str(value) for value in distinct], dtype="object")
        read = number_parts(written, decimal_comma)["number"]
        others = read.isna()
        if others.any():
            read[others] = number_parts(written[others], not decimal_comma)["number"]
        if decimal_comma:
            read = read.fillna(pd.to_numeric(written, errors="coerce"))
        numbers[left] = read.to_numpy()[codes]
    return numbers.where(numbers.abs() < float("inf"))


def number_parts(texts: pd.Series, decimal_comma: bool = False) -> pd.DataFrame:
    """Return numbers as they are written for people, with their units: columns number and unit.

    Thousands separators are left out, and so are units and the signs of currencies and percent:
    $1,200.50 is 1200.5, 12 % is 12, and 5 kg is 5. With `decimal_comma`, 1.200,50 is 1200.5. (5),
    5- and 5 DR are -5; 1.5k and 3M are 1500 and 3000000, with the units k and M if they have no
    other. Anything else becomes missing.
    """
    minus, group = r"[-\u2212\u2013]", r"\s'\u2019"  # the signs for minus, and other separators
    group, point = (f"[.{group}]", ",") if decimal_comma else (f"[,{group}]", r"\.")
    codes = (
        "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|CAD|AUD|NZD|HKD|SGD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|RUB|"
        "BRL|MXN|ZAR|KRW|ILS|THB|AED|SAR"
    )
    money = rf"(?:(?:{codes}|[A-Z]{{0,3}}[$¢-¥\u20a0-\u20cf]|S?Fr|Rs|kr|zł)\.?)"
    lakh = "(?!)" if decimal_comma else r"[1-9]\d?(?:,\d\d)+,\d{3}"  # Indian: 12,34,567
    whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|{lakh}|\d+)"
    digits = rf"{whole}(?:{point}(?:{minus}{{1,2}}|\d*))?|{point}\d+"
    word = r"[^\d\s_()\[\]{}<>=~#*@&|?!,;:+\-\u2212\u2013]{1,12}"
    unit = rf"(?![CD]R ?\)?$)(?![./']){word}(?: {word})?"
    pattern = re.compile(
        rf"(\()? ?({minus}|\+)? ?({money})? ?(\()? ?({minus})? ?({digits}) ?"
        rf"(?:(k|K|M|B|bn)(?![^\W\d_]))? ?({unit})? ?({minus}|[CD]R)? ?(\))?"
    )
    powers = {"k": "e3", "K": "e3", "M": "e6", "B": "e9", "bn": "e9"}
    digit = re.compile(r"\d")
    numbers, units = [], []
    for text in texts.tolist():
        number, its_unit = float("nan"), ""
        found = None
        if len(text) <= 40 and digit.search(text):
            found = pattern.fullmatch(" ".join(text.split()))
        opened, sign, before, inner, second, written, times, after, side, closed = (
            found.groups() if found else [None] * 10
        )
        if written and bool(opened or inner) == bool(closed):
            kept = "".join(each for each in written if each.isdigit() or each == point[-1])
            number = float(kept.replace(",", ".") + powers.get(times or "", ""))
            if closed or second or sign not in (None, "+") or side not in (None, "CR"):
                number = -number
            its_unit = after or before or times or ""
        numbers.append(number)
        units.append(its_unit)
    read = pd.DataFrame({"number": numbers, "unit": units}, texts.index)
    return read.astype({"number": "float64", "unit": "str"})


def as_categories(column: pd.Series, any_spelling: bool = False) -> pd.Series:
    """Return a column as texts; missing and infinite values become None.

    Whole numbers have no decimal point: if a value is missing, Parquet gives the others as floats.
    With `any_spelling`, upper and lower case and the number of spaces make no difference.
    """
    values = column.astype("object")
    if isinstance(column.dtype, pd.StringDtype):
        texts = values.where(values.notna(), None)
    else:
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
    words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
    return as_categories(column, True).map(words).astype("float64")


def date_parts(column: pd.Series, order: str) -> pd.DataFrame:
    """Return dates and times as numbers: year, month, weekday, days since 1970-01-01, and hour.

    `order` says how 01/02/2024 is read: "day-first", "month-first", or "date" (not at all). Dates
    that begin with the year, or name the month, are always read. A month or a quarter is read as
    its first day. Without a date, hours may exceed 24, as in durations. Time zones are ignored.
    Anything else, and dates before 1700 or after 2199, become missing.
    """
    months = [
        "jan ene gen", "feb fév fev", "mar mär mrz", "apr avr abr", "may mai mag mei maj",
        "jun juin giu", "jul juil lug", "aug aoû ago", "sep set", "oct okt out ott", "nov",
        "dec dez déc dic",
    ]  # fmt: skip
    month_of = {name: place for place, names in enumerate(months, 1) for name in names.split()}
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.dt.strftime("%Y-%m-%dT%H:%M:%S")
    codes, texts = pd.factorize(column.astype("object").map(str, na_action="ignore"))
    first, second = ("day", "month") if order == "day-first" else ("month", "day")
    name, day = r"(?P<name>[^\W\d_]{3,10})", r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    year, any_year = r"(?P<year>[12]\d{3})", r"(?P<year>\d{4}|\d\d)"
    forms = [
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        rf"{year}(?P<month>[01]\d)(?P<day>[0-3]\d)",
        rf"{day}[-\s.]+{name}[-\s.,]+{any_year}",
        rf"{name}\.?\s+{day},?\s+(?P<year>\d{{4}})",
        rf"{name}(?:[-/.']|\.?\s+'|\.?,?\s+(?=\d{{4}})){any_year}",
        rf"{year}[-/](?P<month>\d{{1,2}})",
        rf"(?P<month>\d{{1,2}})[-/]{year}",
        rf"{year}[-/\s]?Q(?P<quarter>[1-4])",
        rf"Q(?P<quarter>[1-4])[-/\s]?{year}",
        rf"(?P<{first}>\d{{1,2}})[-/.](?P<{second}>\d{{1,2}})[-/.]{any_year}",
    ]
    clock = r"(?P<hour>\d{1,3}):(?P<minute>[0-5]\d)(?::[0-5]\d(?:[.,]\d+)?)?"
    clock += r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
    zone = r"(?:\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
    weekday = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
    dated = [rf"{weekday}{form}(?:(?:T|,?\s+){clock}{zone})?" for form in forms]
    patterns = [re.compile(each) for each in (dated if order != "date" else dated[:-1])]
    rows = []
    for text in texts:
        found = re.fullmatch(clock, text) if len(text) <= 40 else None
        parts = found.groupdict() if found else {}
        for pattern in patterns if not found and len(text) <= 40 else []:
            found = pattern.fullmatch(text)
            if found:
                parts = found.groupdict()
                break
        when = None
        if parts.get("year"):
            name = (parts.get("name") or "").lower()
            month = month_of.get(name[:4]) or month_of.get(name[:3]) or parts.get("month") or 0
            if parts.get("quarter"):
                month = int(parts["quarter"]) * 3 - 2
            century = 0 if len(parts["year"]) > 2 else 1900 if int(parts["year"]) >= 69 else 2000
            try:
                when = date(int(parts["year"]) + century, int(month), int(parts.get("day") or 1))
            except ValueError:
                when = None
        if when and not 1700 <= when.year < 2200:
            when = None
        hour = None
        if parts.get("hour") and (when or not parts.get("year")):
            hour = int(parts["hour"]) + int(parts["minute"]) / 60.0
            if parts["half"]:
                hour = hour % 12 + 12 * (parts["half"][0] in "Pp")
            if when and hour >= 24:
                hour = None
        rows.append(
            (when.year, when.month, when.weekday(), (when - date(1970, 1, 1)).days, hour)
            if when
            else (None, None, None, None, hour)
        )
    read = pd.DataFrame(rows, columns=["year", "month", "weekday", "days", "hour"], dtype="float64")
    return read.reindex(codes).set_axis(column.index)  # the code of a missing value is -1
