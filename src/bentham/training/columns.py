"""How a table's column is read: as numbers, dates, yes or no, categories, or not at all.

Nothing is read in a way that changes a value's size without a note. Every type can be overridden.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
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
from bentham.training.reading import (
    as_categories,
    as_numbers,
    as_yes_no,
    date_parts,
)
from bentham.training.refusals import listed, shown
from bentham.training.words import means_yes
from bentham.training.written_numbers import (
    EXAMPLES,
    HALF,
    MOSTLY,
    WrittenNumbers,
    number_shown,
)

FEW, SEVERAL = 5, 20  # beside at most FEW other texts, HALF of the values suffice for a type
MANY_VALUES = 50
SAMPLED = 100  # rows among which samples are looked for
TRIED = 200  # distinct texts among which half must be dates
WORDS = 5  # per text, on average, in free text
ID_DIGITS = 9  # whole numbers of this length, all of the same, are hardly quantities
# What a number such as 9999 must exceed to look like a missing value: FAR times the largest other
# number or the range of the others or, if it is the commonest value, a gap of GAP of that range.
FAR, GAP = 2.0, 0.05
ROW_NUMBER = re.compile(r"(.*[^a-z])?(id|index|idx|row|rownames|nr|no|key|unnamed: \d+)", re.I)
CODE = re.compile(r"\d{4,40}")
COMPACT_DATE = re.compile(r"[12]\d{7}")
DATE_LIKE = r"[-/.:\s]|^[12]\d{7}$|^[12]\d{3}Q[1-4]$"
ZONE = r":\d{2}(?:[.,]\d+)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})$"
POSTAL_CODE = re.compile(
    r"(.*[^a-z])?(zip|plz|(zip|post|postal|pin)[ _.-]?(code|nr|no))[ _]?\d?", re.I
)
WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])")  # in customerId
EPOCHS = ((1e9, 2e9), (1e12, 2e12))  # seconds and milliseconds since 1970, from 2001 to 2033
STANDS_FOR_MISSING = {
    float(f"{sign}{'9' * length}") for sign in ("", "-") for length in range(2, 8)
}
LIST = re.compile(r"[^;|,]+([;|,] ?)[^;|,]+(\1[^;|,]+)*")
FORMULA = re.compile(r"[=+\-@\t\r]")
BOOLEANS = {"True", "False"}


def odd_column(name: str, column: pd.Series, contents: str) -> ColumnSummary:
    """Summarize a column whose values are neither numbers nor texts."""
    return ColumnSummary(
        name=name, type="ignored", missing=int(column.isna().sum()), distinct=0, rarest=0,
        note=f"left out: holds {contents}; write them as columns of numbers or texts",
    )  # fmt: skip


def describe(
    name: str, column: pd.Series, comma_elsewhere: bool = False
) -> tuple[ColumnSummary, pd.Series]:
    """Count the values of a column, infer its type and note what is unusual; return its numbers.

    Values of any type are counted as texts, as if they were classes. `comma_elsewhere` decides how
    1,234 and 1.234 are read if the column itself does not tell.
    """
    texts = as_categories(column)
    counts = texts.value_counts()
    present = int(counts.sum())
    written = None if _has_own_type(column) or not present else WrittenNumbers(counts)
    comma = written is not None and written.with_comma(comma_elsewhere)
    if written is None or not isinstance(column.dtype, pd.StringDtype):
        numbers = as_numbers(column, comma)
    elif not comma and written.is_plain:
        numbers = as_numbers(column)
    else:
        read = written.read(comma).to_dict()
        found_in = [read.get(text, math.nan) for text in texts.tolist()]  # quicker than map
        numbers = pd.Series(found_in, column.index, dtype="float64")
    found = int(numbers.notna().sum())
    whole = _are_whole(column, numbers)
    kind, note = _type_of(name, column, counts, written, comma, numbers, whole)
    unread = 0
    if kind in ("number", "decimal-comma"):
        unread = present - found
    elif kind in DATES and not pd.api.types.is_datetime64_any_dtype(column.dtype):
        unread = int(counts[~_are_dates(counts.index.to_series(), kind)].sum())
    if kind == "any-spelling":
        counts = _most_frequent_spellings(counts, as_categories(counts.index.to_series(), True))
    elif kind == "yes-no":
        spelled = len(counts)
        counts = _most_frequent_spellings(counts, as_yes_no(counts.index.to_series()))
        if spelled > len(counts):
            counts.index = pd.Index(["yes" if means_yes(text) else "no" for text in counts.index])
    few = kind in ("category", "any-spelling", "yes-no") or len(counts) <= MOST_VALUES
    summary = ColumnSummary(
        name=name, type=kind, missing=len(column) - present + unread, distinct=len(counts),
        rarest=int(counts.min()) if present else 0, singles=int((counts == 1).sum()),
        unread=unread, numbers=found, whole=kind != "yes-no" and whole,
        numeric=found > 0, note=note, samples=_samples(column, kind, numbers),
        values=_values(counts) if few else [],
    )  # fmt: skip
    return summary, numbers


def _are_whole(column: pd.Series, numbers: pd.Series) -> bool:
    found = int(numbers.notna().sum())
    has_numbers = pd.api.types.is_numeric_dtype(column.dtype)  # then infinite values are not errors
    mostly = found > 0 and (has_numbers or found >= MOSTLY * int(column.notna().sum()))
    return bool(mostly and (numbers.dropna() % 1 == 0).all())


def _has_own_type(column: pd.Series) -> bool:
    """Whether a column of a Parquet file holds something other than texts."""
    return not (
        isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or column.dtype == "object"
    )


def _type_of(
    name: str,
    column: pd.Series,
    counts: pd.Series,
    written: WrittenNumbers | None,
    comma: bool,
    numbers: pd.Series,
    whole: bool,
) -> tuple[ColumnType, str]:
    present = int(counts.sum())
    if present == 0:
        return "ignored", "left out: all its values are missing"
    if len(counts) == 1 and present == len(column):
        return "ignored", f"left out: it has only one value, {shown(counts.index[0])}"
    if len(counts) <= 2 and set(counts.index) <= BOOLEANS:
        return "category", ""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _type_of_texts(counts)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date", ""
    if written is None:
        return _type_of_numbers(name, column, counts, numbers, whole, "number", [])
    texts = written.texts
    plain = bool((written.plain.abs() < math.inf).all())  # most columns, and quick
    found = None
    compact = any(map(COMPACT_DATE.fullmatch, texts.iloc[:FEW]))
    # Of the ways to write a date only 20240301 is a number as well.
    other = not plain and written.share(written.read(comma).notna()) < MOSTLY
    if other or compact:
        found = _dates(counts)
    if found is None and not plain:
        found = _spelled_yes_no(counts)
    if found is not None:
        return found
    kind: ColumnType = "decimal-comma" if comma else "number"
    if plain and not written.in_groups:
        return _type_of_numbers(name, column, counts, numbers, whole, kind, [])
    read = written.read(comma)
    share, others = written.share(read.notna()), int(read.isna().sum())
    enough = share >= MOSTLY or (share >= HALF and others <= FEW and read.nunique() > SEVERAL)
    units = written.mixed_units(comma) if enough else []
    if enough and not units:
        return _type_of_numbers(name, column, counts, numbers, whole, kind, written.notes(comma))
    note = ""
    if 0 < len(units) <= EXAMPLES:
        note = (
            f"its numbers have several units ({listed(units, EXAMPLES)}): write them in one, or "
            f"set its type to {kind} to ignore the units"
        )
    elif not units and share > HALF:
        note = _hint(share, "numbers", kind)
    return _type_of_texts(counts, note)


def _hint(share: float, what: str, kind: ColumnType) -> str:
    return (
        f"{share:.0%} of its values are {what}; set its type to {kind} to use these, the others "
        "then count as missing"
    )


def _spelled_yes_no(counts: pd.Series) -> tuple[ColumnType, str] | None:
    texts = counts.index.to_series()
    if len(texts) > SEVERAL:
        return None
    read = as_yes_no(texts)
    if read.isna().any() or read.nunique() < 2 or as_numbers(texts).notna().all():
        return None
    if len(texts) == 2:
        return "yes-no", ""
    return "yes-no", f"{listed(list(texts))} are read as yes (1) or no (0)"


def _dates(counts: pd.Series) -> tuple[ColumnType, str] | None:
    texts = counts.index.to_series()
    sample = texts.iloc[:: max(1, len(texts) // TRIED)]
    if not sample.str.contains(DATE_LIKE, regex=True).mean() >= HALF:
        return None
    orders = [order for order in DATES if _are_dates(sample, order).mean() >= HALF]
    if not orders:
        return None
    read = {}
    for order in orders:
        read[order] = _are_dates(texts, order)
        if _share(counts, read[order]) >= MOSTLY and order == "date":
            break  # if nearly all begin with the year, the order makes no difference
    shares = {order: _share(counts, read[order]) for order in read}
    best = max(shares, key=lambda order: shares[order])
    if shares[best] < HALF or len(counts) < 2:
        return None
    others = texts[~read[best]]
    if shares[best] < MOSTLY and (
        len(others) > FEW or any(_are_dates(others, order).any() for order in DATES)
    ):
        return _type_of_texts(counts, _hint(shares[best], "dates", best))
    notes = []
    if best == "date":
        if as_numbers(texts).notna().all():
            notes = ["read as dates, such as 20240301; set its type to number if they are not"]
    elif shares.get("day-first") == shares.get("month-first"):
        points = texts.str.contains(".", regex=False).mean() > HALF
        best, other = ("day-first", "month-first") if points else ("month-first", "day-first")
        notes = [
            f"dates such as {shown(texts[read[best]].iloc[0])} are read with the "
            f"{'day' if points else 'month'} first, but no value shows which is right; set its "
            f"type to {other} if that is wrong"
        ]
    if not read[best].all():
        invalid = counts[~read[best]]
        notes.append(
            f"{invalid.sum():,} of its values are not dates, such as {shown(invalid.index[0])}, "
            "and count as missing"
        )
    zones = sorted(set(texts.str.extract(ZONE)[0].dropna()))
    if len(zones) > 1:
        notes.append(f"times of several zones ({listed(zones, EXAMPLES)}) are not converted")
    return best, "; ".join(notes)


def _are_dates(texts: pd.Series, order: ColumnType) -> pd.Series:
    parts = date_parts(texts, order)
    return parts["days"].notna() | parts["hour"].notna()


def _type_of_numbers(
    name: str,
    column: pd.Series,
    counts: pd.Series,
    numbers: pd.Series,
    whole: bool,
    kind: ColumnType,
    notes: list[str],
) -> tuple[ColumnType, str]:
    name = WORD_ENDS.sub(" ", name)
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
    many = len(counts) > MANY_VALUES and len(counts) > counts.sum() / 2
    if whole and many and (ROW_NUMBER.fullmatch(name) or _look_like_ids(numbers.dropna())):
        return "ignored", "left out: holds ids; set its type to number or category to use it"
    return kind, "; ".join([*notes, *_notes_on_numbers(column, numbers, counts)])


def _look_like_ids(numbers: pd.Series) -> bool:
    """Whether numbers are of one length that is too long for quantities, and no points in time."""
    smallest, largest = float(numbers.min()), float(numbers.max())
    times = any(first <= smallest and largest < last for first, last in EPOCHS)
    same = len(f"{smallest:.0f}") == len(f"{largest:.0f}") >= ID_DIGITS
    return smallest > 0.0 and same and not times


def _notes_on_numbers(column: pd.Series, numbers: pd.Series, counts: pd.Series) -> list[str]:
    notes = _note_on_stand_ins(numbers)
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


def _note_on_stand_ins(numbers: pd.Series) -> list[str]:
    """Return a note on a number such as -999 that seems to stand for a missing value."""
    values, rows = np.unique(numbers.dropna().to_numpy(), return_counts=True)
    for at in (0, -1) if len(values) > 1 else ():
        value, others = float(values[at]), np.delete(values, at)
        same, most = int(rows[at]), int(np.delete(rows, at).max())
        smallest, largest = float(others[0]), float(others[-1])
        gap = smallest - value if at == 0 else value - largest
        several, nines = len(others) > FEW, value in STANDS_FOR_MISSING
        far = (
            (nines and abs(value) > FAR * max(abs(smallest), abs(largest)))
            or (nines and several and same > most and gap > GAP * (largest - smallest))
            or (several and gap > FAR * (largest - smallest))
        )
        if same > 1 and (far or (several and value < 0.0 <= smallest)):
            where = "far from all others" if far else "the only negative value"
            return [
                f"{same:,} of its values are {number_shown(value)}, {where}; if that stands for a "
                "missing value, leave it empty"
            ]
    return []


def _type_of_texts(counts: pd.Series, hint: str = "") -> tuple[ColumnType, str]:
    kind, note = _categories(counts)
    return kind, "; ".join(filter(None, [note, hint]))


def _categories(counts: pd.Series) -> tuple[ColumnType, str]:
    present, texts = int(counts.sum()), counts.index.to_series()
    keys = as_categories(texts, True)
    merged = _most_frequent_spellings(counts, keys)
    words = float((texts.str.count(r"\s+") * counts.to_numpy()).sum() / present) + 1.0
    many = len(merged) > MANY_VALUES and len(merged) > present / 2
    if many or len(counts) == present or (words >= WORDS and len(merged) > SEVERAL):
        return "ignored", (
            f"left out: {len(counts):,} distinct texts in {present:,} rows, such as names or free "
            "text, are of little use to a model; group them into a few, or set its type to category"
        )
    if len(merged) > SEVERAL and (example := _list_among(texts)):
        return "category", (
            f"values such as {shown(example)} seem to be lists; each combination is a category of "
            "its own; a column for each item may serve better"
        )
    if len(merged) == len(counts):
        return "category", ""
    groups = texts.groupby(keys.to_numpy()).agg(list)
    example = next(group for group in groups if len(group) > 1)
    return "any-spelling", (
        f"{len(counts) - len(merged):,} of its values are other spellings, such as "
        f"{listed(example, 3)}, and are merged; set its type to category to keep them apart"
    )


def _list_among(texts: pd.Series) -> str:
    """Return a list of items, if most texts are made of the same few items."""
    lists = [text for text in texts.head(SAMPLED) if LIST.fullmatch(text)]
    items = {item.strip() for text in lists for item in re.split("[;|,]", text)}
    return (
        lists[0] if len(lists) > HALF * min(len(texts), SAMPLED) and len(items) <= SEVERAL else ""
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


def _samples(column: pd.Series, kind: ColumnType, numbers: pd.Series) -> list[tuple[str, str]]:
    """Return the first few distinct values, as written and as read."""
    first = column.head(SAMPLED).dropna().drop_duplicates().head(MOST_SAMPLES)
    if first.empty:
        first = column.dropna().head(1)
    texts = as_categories(first)
    if kind in ("number", "decimal-comma"):
        after = [number_shown(each) for each in numbers[first.index]]
    elif kind == "yes-no":
        after = [number_shown(each) for each in as_yes_no(first)]
    elif kind in DATES:
        after = [_date(*row) for row in date_parts(first, kind).itertuples(index=False)]
    elif kind == "ignored":
        after = [""] * len(first)
    else:
        after = [str(each) for each in as_categories(first, kind == "any-spelling")]
    return [(_short(before), _short(read)) for before, read in zip(texts, after, strict=True)]


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
    return int(as_numbers(starting).isna().sum())
