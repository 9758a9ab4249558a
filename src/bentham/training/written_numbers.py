"""How the numbers of a column are written: with which decimal sign, and in which units."""

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from bentham.training.reading import as_categories, number_parts
from bentham.training.refusals import listed, shown

MOSTLY = 0.95  # fraction of the present values; the others are then treated as errors
HALF = 0.5
TRIED = 200  # distinct texts among which there must be a number, or none is
EXAMPLES = 3
# A comma that cannot be a thousands separator. Longer texts are no numbers, and take long to match.
DECIMAL_COMMA = re.compile(r"(?=[\s\S]{0,40}\Z)\D*[\d.\s]*,(\d{1,2}|\d{4,})\D*")
THOUSANDS_POINT = re.compile(r"[^\d.,]*[1-9]\d{0,2}(\.\d{3})+[^\d.,]*")
DIGITS = re.compile(r"[\d.,'\u2019\s]+")
MULTIPLIERS = {"k", "K", "M", "B", "bn"}
CURRENCY = re.compile(r"[A-Z]{0,3}[$¢-¥\u20a0-\u20cf]|[A-Z]{3}|S?Fr\.?|Rs\.?|kr\.?|zł")


class WrittenNumbers:
    """The distinct texts of a column, read as numbers with a decimal point and with a comma."""

    def __init__(self, counts: pd.Series) -> None:
        """Take the texts; `counts` are their numbers of rows."""
        self.texts = counts.index.to_series()
        self.rows = counts.to_numpy()
        self.plain = pd.to_numeric(self.texts, errors="coerce").astype("float64")
        self.is_plain = bool(self.plain.notna().all())
        self._read: dict[bool, pd.Series] = {}
        self._units: dict[bool, dict[str, float]] = {}

    @cached_property
    def parts(self) -> dict[bool, pd.DataFrame]:
        """The numbers and units, without and with a decimal comma.

        Long lists of texts take long to read, so a sample of them must contain a number.
        """
        sample = self.texts.iloc[:: max(1, len(self.texts) // TRIED)]
        if len(sample) == len(self.texts) or self.plain[sample.index].notna().any():
            return {comma: number_parts(self.texts, comma) for comma in (False, True)}
        found = any(number_parts(sample, comma)["number"].notna().any() for comma in (False, True))
        texts = self.texts if found else self.texts.iloc[:0]
        return {
            comma: number_parts(texts, comma).reindex(self.texts.index) for comma in (False, True)
        }

    @cached_property
    def in_groups(self) -> bool:
        """Whether all points are where thousands separators would be."""
        pointed = [text for text in self.texts.tolist() if "." in text]
        return bool(pointed) and all(map(THOUSANDS_POINT.fullmatch, pointed))

    def read(self, comma: bool) -> pd.Series:
        """Return the numbers as `as_numbers` does."""
        if comma not in self._read:
            self._read[comma] = self._numbers(comma)
        return self._read[comma]

    def _numbers(self, comma: bool) -> pd.Series:
        if not comma and self.is_plain:
            return _finite(self.plain)
        own, other = self.parts[comma]["number"], self.parts[not comma]["number"]
        if comma:
            return _finite(own.fillna(other).fillna(self.plain))
        return _finite(self.plain.fillna(own).fillna(other))

    def with_comma(self, elsewhere: bool) -> bool:
        """Whether the decimal sign is a comma, as far as the texts tell; else as `elsewhere`."""
        texts = self.texts.tolist()
        commas = any("," in text for text in texts)
        if not commas and not self.in_groups:
            return False  # such as 1.5
        with_point, with_comma = (
            self.share(self.parts[comma]["number"].notna()) for comma in (False, True)
        )
        if with_comma != with_point:
            return with_comma > with_point
        if self.in_groups:
            # Written as 1.234 beside 987: thousands, since decimals would not always have three
            # digits and be missing from small numbers only.
            rest = self.read(False)[["." not in text for text in texts]]
            return elsewhere or bool(len(rest) and (rest.abs() < 1000).all())
        return elsewhere and commas

    def share(self, chosen: pd.Series) -> float:
        """Return the fraction of the rows that have one of these texts."""
        kept: npt.NDArray[np.bool_] = chosen.to_numpy(dtype="bool", na_value=False)
        return float(self.rows[kept].sum() / self.rows.sum())

    def units(self, comma: bool) -> dict[str, float]:
        """Return the fraction of the numbers that have each unit; "" stands for none."""
        if comma not in self._units:
            self._units[comma] = self._shares_of_units(comma)
        return self._units[comma]

    def _shares_of_units(self, comma: bool) -> dict[str, float]:
        own, other = self.parts[comma], self.parts[not comma]
        units = own["unit"].where(own["number"].notna(), other["unit"]).tolist()
        found: dict[str, int] = {}
        for unit, rows, number in zip(units, self.rows, self.read(comma).notna(), strict=True):
            if number:
                unit = unit if isinstance(unit, str) else ""  # numbers such as 1e5 have no parts
                kept = CURRENCY.fullmatch(unit) or unit in MULTIPLIERS
                same = unit if kept else unit.lower().rstrip("s.")
                found[same] = found.get(same, 0) + int(rows)
        if all(unit in MULTIPLIERS or CURRENCY.fullmatch(unit) for unit in found if unit):
            for unit in MULTIPLIERS & set(found):  # not so in 30M beside 25F
                found[""] = found.get("", 0) + found.pop(unit)
        return {unit: rows / sum(found.values()) for unit, rows in found.items()}

    def mixed_units(self, comma: bool) -> list[str]:
        """Return the units if there are several; currencies and a few errors do not count.

        Numbers such as 5 g and 2 kg cannot be compared, and neither can 12a and 12b.
        """
        shares = self.units(comma)
        units = sorted(filter(None, shares))
        if len(units) < 2 or max(shares.values()) >= MOSTLY or _are_currencies(units):
            return []
        return units

    def notes(self, comma: bool) -> list[str]:
        """Return notes on numbers that are written in another way than they are read."""
        read = self.read(comma)
        changed = self.texts[read.notna() & (read != self.plain)]
        units = self._notes_on_units(comma)
        if unclear := self._note_if_unclear(comma):
            return [unclear, *units]
        notes = []
        if len(changed):
            examples: dict[str, str] = {}  # by form
            for text in changed.tolist():
                examples.setdefault(DIGITS.sub("0", text), text)
            readings = [
                f"{shown(text)} as {number_shown(read[text])}"
                for text in [*examples.values()][:EXAMPLES]
            ]
            notes.append(", ".join(readings).replace(" as ", " is read as ", 1))
        own, other = self.parts[comma]["number"], self.parts[not comma]["number"]
        others = self.texts[own.isna() & other.notna() & (comma | self.plain.isna())]
        if others.size:
            signs = ("point", "comma") if comma else ("comma", "point")
            notes.append(
                f"some values have a decimal {signs[0]}, such as {shown(others.iloc[0])}, others "
                f"a decimal {signs[1]}"
            )
            either = self.texts[own.notna() & other.notna() & (own != other)]
            notes += [
                f"{shown(text)} could have either and is read as {number_shown(own[text])}"
                for text in either.iloc[:1]
            ]
        return [*notes, *units]

    def _note_if_unclear(self, comma: bool) -> str:
        """Return a note if nothing tells which of two sizes numbers such as 1,234 have."""
        own, other = self.parts[comma]["number"], self.parts[not comma]["number"]
        either = self.texts[own.notna() & other.notna() & (own != other)]
        if either.empty or (own.notna() & other.isna()).any():
            return ""
        one, kind = either.iloc[0], "number" if comma else "decimal-comma"
        return (
            f"{shown(one)} is read as {number_shown(own[one])}, not {number_shown(other[one])}; "
            f"set its type to {kind} if that is wrong"
        )

    def _notes_on_units(self, comma: bool) -> list[str]:
        shares = self.units(comma)
        units = sorted(filter(None, shares))
        if len(units) > 1 and _are_currencies(units):
            return [f"amounts in several currencies ({', '.join(units)}) are not converted"]
        if units and len(shares) > 1:
            return [
                f"some values have the unit {listed(units, EXAMPLES)}, others not; it is ignored, "
                "and their sizes may differ"
            ]
        return []


def uses_decimal_comma(columns: Iterable[pd.Series]) -> bool:
    """Whether some column has numbers that can only be read with a decimal comma."""
    for column in columns:
        if not column.head(100).str.contains(",", regex=False).any():
            continue
        counts = as_categories(column).value_counts()
        decimal = counts.index.to_series().str.fullmatch(DECIMAL_COMMA).to_numpy(dtype="bool")
        if counts[decimal].sum() >= HALF * counts.sum():
            numbers = WrittenNumbers(counts)
            if numbers.share(numbers.parts[True]["number"].notna()) >= MOSTLY:
                return True
    return False


def number_shown(value: float) -> str:
    """Return a number as text."""
    return "missing" if pd.isna(value) else f"{value:.15g}"


def _finite(numbers: pd.Series) -> pd.Series:
    return numbers.where(numbers.abs() < float("inf"))


def _are_currencies(units: list[str]) -> bool:
    return all(map(CURRENCY.fullmatch, units))
