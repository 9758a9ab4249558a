"""The ranges of hyperparameters: a number, a whole number, or one of a few values."""

import json
import math
from dataclasses import dataclass
from typing import TypeAlias

from bentham.errors import InvalidInput

# A value of a hyperparameter.
Setting: TypeAlias = bool | int | float | str | None
_DIGITS = 3  # significant digits of a sampled number: short, and the same on every machine


@dataclass(frozen=True)
class Real:
    """A number from low to high, uniform on a linear or a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def at(self, share: float) -> float:
        """Return the value at a fraction, from 0 to 1, of the way from low to high."""
        value = float(f"{_between(self.low, self.high, self.log, share):.{_DIGITS}g}")
        return min(max(value, float(self.low)), float(self.high))

    def holds(self, value: Setting) -> bool:
        """Whether the value is one of this parameter's."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """Return the value as a feature from 0 to 1."""
        assert isinstance(value, int | float)
        return {name: _share(self.low, self.high, self.log, value)}

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class Whole:
    """A whole number from low to high, uniform on a linear or a logarithmic scale."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def at(self, share: float) -> int:
        """Return the value at a fraction, from 0 to 1, of the way from low to high."""
        if self.log:
            value = round(_between(self.low, self.high, True, share))
        else:
            value = self.low + math.floor(share * (self.high - self.low + 1))
        return min(max(value, self.low), self.high)

    def holds(self, value: Setting) -> bool:
        """Whether the value is one of this parameter's."""
        return type(value) is int and self.low <= value <= self.high

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """Return the value as a feature from 0 to 1."""
        assert isinstance(value, int)
        return {name: _share(self.low, self.high, self.log, value)}

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, whole{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of a few values; if ordered, neighbours are similar."""

    values: tuple[Setting, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        if len({canonical(value) for value in self.values}) < max(2, len(self.values)):
            raise InvalidInput(
                f"the choices are {list(self.values)}; give at least two, without duplicates"
            )

    def at(self, share: float) -> Setting:
        """Return the value at a fraction from 0 to 1, of which each value has an equal part."""
        return self.values[min(math.floor(share * len(self.values)), len(self.values) - 1)]

    def holds(self, value: Setting) -> bool:
        """Whether the value is one of this parameter's."""
        return canonical(value) in {canonical(each) for each in self.values}

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """Return the value as features from 0 to 1: its position, or one feature per value."""
        known = [canonical(each) for each in self.values]
        place = known.index(canonical(value))
        if self.ordered:
            return {name: place / (len(known) - 1)}
        return {f"{name}={each}": float(at == place) for at, each in enumerate(known)}

    def __str__(self) -> str:
        return "one of " + ", ".join(canonical(value) for value in self.values)


Parameter: TypeAlias = Real | Whole | Choice


def canonical(value: object) -> str:
    """Return a value as canonical JSON, the same everywhere; `1`, `1.0` and `true` differ."""
    return json.dumps(value, sort_keys=True)


def _between(low: float, high: float, log: bool, share: float) -> float:
    if log:
        return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return low + share * (high - low)


def _share(low: float, high: float, log: bool, value: float) -> float:
    if log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _check_range(low: float, high: float, log: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"the range is from {low} to {high}; low must be below high")
    if log and low <= 0:
        raise InvalidInput(f"a logarithmic range starts at {low}; start above 0, or leave out log")
