"""How a table's column is read: as numbers, dates, yes or no, categories, or not at all.

Nothing is read in a way that changes a value's size without a note. Every type can be overridden.
"""

import re
from collections.abc import Iterable, Sequence

import pandas as pd

from bentham.training.dataset import (
    DATES,
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    MOST_VALUES,
    ColumnSummary,
    ColumnType,
    is_storable,
)
from bentham.training.reading import as_categories, as_numbers, as_yes_no, date_parts
from bentham.training.refusals import listed, shown

MOSTLY = 0.95  # fraction of the present values; the others are then treated as errors
HALF = 0.5  # suffices for numbers if the other texts are FEW
FEW, SEVERAL = 5, 20
MANY_VALUES = 50
SAMPLED = 100  # rows among which samples are looked for
WORDS = 5  # per text, on average, in free text
DECIMAL_COMMA = re.compile(r"\D*[\d.\s]*,(\d{1,2}|\d{4,})\D*")  # cannot be a thousands separator
THOUSANDS_POINT = re.compile(r"[^\d.,]*[1-9]\d{0,2}(\.\d{3})+[^\d.,]*")
ROW_NUMBER = re.compile(r"(.*[^a-z])?(id|index|idx|row|rownames|nr|no|key|unnamed: \d+)", re.I)
CODE = re.compile(r"\d{4,12}")
COMPACT_DATE = re.compile(r"[12]\d{7}")
POSTAL_CODE = re.compile(r"(.*[^a-z])?(zip|zip_?code|postal_?code|post_?code|plz)", re.I)
FORMULA = re.compile(r"[=+\-@\t\r]")
BOOLEANS = {"True", "False"}
CURRENCY = re.compile(r"[$€£¥₹]|[A-Z]{3}|kr|zł")


def odd_column(name: str, column: pd.Series, contents: str) -> ColumnSummary:
    """Summarize a column whose values are neither numbers nor texts."""
    return ColumnSummary(
        name=name, type="ignored", missing=int(column.isna().sum()), distinct=0, rarest=0,
        note=f"left out: holds {contents}; write them as columns of numbers or texts",
    )  # fmt: skip


def uses_decimal_comma(columns: Iterable[pd.Series]) -> bool:
    """Whether some column has numbers that can only be read with a decimal comma."""
    return any(
        _share(counts, counts.index.to_series().str.fullmatch(DECIMAL_COMMA)) >= HALF
        and _share(counts, as_numbers(counts.index.to_series(), True).notna()) >= MOSTLY
        for counts in (
            as_categories(column).value_counts()
            for column in columns
            if column.head(100).str.contains(",", regex=False).any()
        )
        if len(counts)
    )


def describe(name: str, column: pd.Series, comma_elsewhere: bool = False) -> ColumnSummary:
    """Count the values of a column, infer its type and note what is unusual.

    Values of any type are counted as texts, as if they were classes. `comma_elsewhere` decides how
    1,234 and 1.234 are read if the column itself does not tell.
    """
    counts = as_categories(column).value_counts()
    present = int(counts.sum())
    kind, note = _type_of(name, column, counts, comma_elsewhere)
    numbers = as_numbers(column, kind == "decimal-comma")
    if kind == "any-spelling":
        counts = _most_frequent_spellings(counts, as_categories(counts.index.to_series(), True))
    elif kind == "yes-no":
        counts = _most_frequent_spellings(counts, as_yes_no(counts.index.to_series()))
    few = kind in ("category", "any-spelling", "yes-no") or len(counts) <= MOST_VALUES
    return ColumnSummary(
        name=name, type=kind, missing=len(column) - present, distinct=len(counts),
        rarest=int(counts.min()) if present else 0, singles=int((counts == 1).sum()),
        whole=kind != "yes-no" and _are_whole(column, numbers),
        numeric=bool(numbers.notna().any()), note=note, samples=_samples(column, kind),
        values=_values(counts) if few else [],
    )  # fmt: skip


def _are_whole(column: pd.Series, numbers: pd.Series) -> bool:
    found = int(numbers.notna().sum())
    has_numbers = pd.api.types.is_numeric_dtype(column.dtype)  # then infinite values are not errors
    mostly = found > 0 and (has_numbers or found >= MOSTLY * int(column.notna().sum()))
    return bool(mostly and (numbers.dropna() % 1 == 0).all())


def _type_of(
    name: str, column: pd.Series, counts: pd.Series, comma_elsewhere: bool
) -> tuple[ColumnType, str]:
    present = int(counts.sum())
    if present == 0:
        return "ignored", "left out: all its values are missing"
    if len(counts) == 1 and present == len(column):
        return "ignored", f"left out: it has only one value, {shown(counts.index[0])}"
    if isinstance(column.dtype, pd.CategoricalDtype) or (
        len(counts) <= 2 and set(counts.index) <= BOOLEANS
    ):
        return "category", ""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date", ""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _type_of_numbers(name, column, counts, "number", True)
    texts = counts.index.to_series()
    plain = bool(pd.to_numeric(texts, errors="coerce").notna().all())  # most columns, and quick
    found = _dates(counts) if not plain or COMPACT_DATE.fullmatch(texts.iloc[0]) else None
    found = found or (None if plain else _spelled_yes_no(counts))
    if found is not None:
        return found
    if plain and not any(map(THOUSANDS_POINT.fullmatch, texts)):
        return _type_of_numbers(name, column, counts, "number", True)
    comma = _reads_with_comma(texts, counts, comma_elsewhere)
    numbers = as_numbers(texts, comma)
    share, others = _share(counts, numbers.notna()), int(numbers.isna().sum())
    if share >= MOSTLY or (share >= HALF and others <= FEW and numbers.nunique() > SEVERAL):
        return _type_of_numbers(name, column, counts, "decimal-comma" if comma else "number", False)
    return _type_of_texts(counts)


def _spelled_yes_no(counts: pd.Series) -> tuple[ColumnType, str] | None:
    texts = counts.index.to_series()
    read = as_yes_no(texts)
    if read.isna().any() or read.nunique() < 2 or as_numbers(texts).notna().any():
        return None
    if len(texts) == 2:
        return "yes-no", ""
    return "yes-no", f"{listed(list(texts))} are read as yes (1) or no (0)"


def _dates(counts: pd.Series) -> tuple[ColumnType, str] | None:
    texts = counts.index.to_series()
    sample = texts.head(100)
    if not sample.str.contains(r"[-/.:\s]|^[12]\d{7}$", regex=True).mean() >= HALF:
        return None
    shares = {}
    for order in DATES:
        parts = date_parts(texts, order)
        shares[order] = _share(counts, parts["days"].notna() | parts["hour"].notna())
    best = max(shares, key=lambda order: shares[order])
    if shares[best] < MOSTLY or len(counts) < 2:
        return None
    if shares["date"] >= shares[best]:
        if as_numbers(texts).notna().all():
            return "date", "read as dates, such as 20240301; set its type to number if they are not"
        return "date", ""
    if shares["day-first"] == shares["month-first"]:
        points = texts.str.contains(".", regex=False).mean() > HALF
        kind: ColumnType = "day-first" if points else "month-first"
        other = "month-first" if points else "day-first"
        return kind, (
            f"dates such as {shown(counts.index[0])} are read with the "
            f"{'day' if points else 'month'} first, but no value shows which is right; set its "
            f"type to {other} if that is wrong"
        )
    return best, ""


def _reads_with_comma(texts: pd.Series, counts: pd.Series, elsewhere: bool) -> bool:
    """Whether numbers have a decimal comma, as far as the texts tell; else as `elsewhere`."""
    pointed = texts.str.contains(".", regex=False)
    grouped = texts.str.fullmatch(THOUSANDS_POINT)
    commas = texts.str.contains(",", regex=False)
    if not commas.any() and not (grouped == pointed).all():
        return False  # such as 1.5: no comma anywhere
    with_point = _share(counts, as_numbers(texts).notna())
    with_comma = _share(counts, as_numbers(texts, True).notna())
    if with_comma != with_point:
        return with_comma > with_point
    if pointed.any() and (grouped == pointed).all():
        # Written as 1.234 beside 987: thousands, since decimals would not always have three digits
        # and be missing from small numbers only.
        rest = as_numbers(texts[~pointed])
        return elsewhere or bool(len(rest) and (rest.abs() < 1000).all())
    return elsewhere and bool(commas.any())


def _type_of_numbers(
    name: str, column: pd.Series, counts: pd.Series, kind: ColumnType, plain: bool
) -> tuple[ColumnType, str]:
    comma = kind == "decimal-comma"
    numbers = as_numbers(column, comma)
    whole = _are_whole(column, numbers)
    padded = (
        any(text.startswith("0") for text in counts.index)
        and all(CODE.fullmatch(text) for text in counts.index)
        and len({len(text) for text in counts.index}) == 1
    )
    if padded or (POSTAL_CODE.fullmatch(name) and whole):
        what = "codes (they begin with 0)" if padded else "postal codes"
        if len(counts) > MANY_VALUES and len(counts) > counts.sum() / 2:
            return "ignored", (
                f"left out: holds {what}, most of them in one row only; set its type to category "
                "or number to use it"
            )
        return "category", f"holds {what}, so it is read as categories; else set its type to number"
    if whole and len(counts) == len(column):
        counted = bool((numbers.diff().iloc[1:] == 1.0).all())
        if counted or ROW_NUMBER.fullmatch(name):
            return "ignored", "left out: it numbers the rows; set its type to number to use it"
    notes = [] if plain else _notes_on_reading(counts, comma)
    return kind, "; ".join([*notes, *_notes_on_numbers(column, numbers, counts)])


def _notes_on_reading(counts: pd.Series, comma: bool) -> list[str]:
    """Return notes on numbers that are written in another way than they are read."""
    notes = []
    texts = counts.index.to_series()
    read, plain = as_numbers(texts, comma), pd.to_numeric(texts, errors="coerce")
    changed = texts[read.notna() & (plain.isna() | (comma & (read != plain)))]
    if len(changed):
        example = changed.iloc[0]
        notes.append(f"{shown(example)} is read as {_number(read[example])}")
        if _is_unclear(changed, comma):
            other = "number" if comma else "decimal-comma"
            notes[-1] += f"; set its type to {other} if that is not its size"
    signs = sorted({sign for text in changed for sign in CURRENCY.findall(text)})
    if len(signs) > 1:
        notes.append(f"amounts in several currencies ({', '.join(signs)}) are not converted")
    percent = texts.str.contains("%", regex=False)
    if percent.any() and not percent[read.notna()].all():
        notes.append("some values have a percent sign, others not; their sizes may differ")
    return notes


def _notes_on_numbers(column: pd.Series, numbers: pd.Series, counts: pd.Series) -> list[str]:
    notes = []
    invalid = column[numbers.isna() & column.notna()]
    if len(invalid):
        notes.append(
            f"{len(invalid):,} of its values are not numbers, such as {shown(invalid.iloc[0])}, "
            "and count as missing; correct them, or set its type to category"
        )
    elif len(counts) <= MANY_VALUES and numbers.nunique() < len(counts):
        notes.append(
            "some numbers are written in several ways (1 and 1.0); as classes, these are different"
        )
    return notes


def _is_unclear(texts: pd.Series, comma: bool) -> bool:
    """Whether every text could be read in both ways, with other results."""
    return bool((as_numbers(texts, not comma).notna()).all())


def _type_of_texts(counts: pd.Series) -> tuple[ColumnType, str]:
    present, texts = int(counts.sum()), counts.index.to_series()
    merged = _most_frequent_spellings(counts, as_categories(texts, True))
    words = float((texts.str.count(r"\s+") * counts.to_numpy()).sum() / present) + 1.0
    many = len(merged) > MANY_VALUES and len(merged) > present / 2
    if many or len(counts) == present or (words >= WORDS and len(merged) > SEVERAL):
        return "ignored", (
            f"left out: {len(counts):,} distinct texts in {present:,} rows, such as names or free "
            "text, are of little use to a model; group them into a few, or set its type to category"
        )
    if len(merged) == len(counts):
        return "category", ""
    keys = as_categories(texts, True)
    groups = texts.groupby(keys.to_numpy()).agg(list)
    example = next(group for group in groups if len(group) > 1)
    return "any-spelling", (
        f"{len(counts) - len(merged):,} of its values are other spellings, such as "
        f"{listed(example, 3)}, and are merged; set its type to category to keep them apart"
    )


def _most_frequent_spellings(counts: pd.Series, merged: pd.Series) -> pd.Series:
    """Return the counts of merged values, each named by its commonest spelling."""
    keys = merged.to_numpy()
    sums = counts.groupby(keys, sort=False).sum()
    ordered = sorted(zip(-counts.to_numpy(), counts.index, keys, strict=True))
    names: dict[object, str] = {}
    for _, text, key in ordered:
        names.setdefault(key, text)
    return sums.rename(names).sort_values(ascending=False, kind="stable")


def _samples(column: pd.Series, kind: ColumnType) -> list[tuple[str, str]]:
    """Return the first few distinct values, as written and as read."""
    first = column.head(SAMPLED).dropna().drop_duplicates().head(MOST_SAMPLES)
    if first.empty:
        first = column.dropna().head(1)
    texts = as_categories(first)
    if kind in ("number", "decimal-comma"):
        after = [_number(each) for each in as_numbers(first, kind == "decimal-comma")]
    elif kind == "yes-no":
        after = [_number(each) for each in as_yes_no(first)]
    elif kind in DATES:
        after = [_date(*row) for row in date_parts(first, kind).itertuples(index=False)]
    elif kind == "ignored":
        after = [""] * len(first)
    else:
        after = [str(each) for each in as_categories(first, kind == "any-spelling")]
    return [(_short(before), _short(read)) for before, read in zip(texts, after, strict=True)]


def _number(value: float) -> str:
    return "missing" if pd.isna(value) else f"{value:.15g}"


def _date(year: float, month: float, weekday: float, days: float, hour: float) -> str:  # noqa: ARG001
    day = "" if pd.isna(days) else f"{pd.Timestamp(0) + pd.Timedelta(days=days):%Y-%m-%d}"
    minutes = 0 if pd.isna(hour) else round(hour * 60)
    clock = "" if pd.isna(hour) else f"{minutes // 60:02}:{minutes % 60:02}"
    return " ".join(filter(None, (day, clock))) or "missing"


def _short(text: object) -> str:
    line = "".join(sign if sign.isprintable() else " " for sign in str(text))
    line = line if is_storable(line) else "?"
    return line if len(line) <= LONGEST_SAMPLE else f"{line[: LONGEST_SAMPLE - 3]}..."


def _values(counts: pd.Series) -> list[tuple[str, int]]:
    return [(_short(text), int(count)) for text, count in counts.head(MOST_VALUES).items()]


def _share(counts: pd.Series, chosen: pd.Series | Sequence[bool]) -> float:
    kept = pd.Series(chosen).to_numpy(dtype="bool", na_value=False)
    return float(counts[kept].sum() / counts.sum())


def formulas_in(column: pd.Series) -> int:
    """Return the number of values that a spreadsheet would treat as formulas."""
    texts = as_categories(column).dropna().astype("str")
    starting = texts[texts.str.match(FORMULA)]
    return int((as_numbers(starting).isna() & as_numbers(starting, True).isna()).sum())
