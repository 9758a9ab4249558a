"""Claims of the paper, each with what was measured and the verdict that the numbers give."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bentham.reproduce.curves import IntervalEstimate

DIGITS = 4  # of every number that is written down: the rest differs between machines


class Verdict(StrEnum):
    """What the numbers say of a claim."""

    HOLDS = "holds"
    PART = "holds in part"
    FAILS = "does not hold"
    UNTESTED = "cannot be tested"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number behind a verdict, with its 95 % interval where it has one."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    claimed: float | None = None

    @staticmethod
    def of(what: str, estimate: IntervalEstimate, claimed: float | None = None) -> "Measurement":
        """A number with an interval, if there is one."""
        if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
            return Measurement(what, estimate.value, claimed=claimed)
        return Measurement(what, estimate.value, estimate.low, estimate.high, claimed)

    def plain(self) -> dict[str, Any]:
        """For a file: rounded, and without what is not there."""
        numbers = {"value": self.value, "low": self.low, "high": self.high, "paper": self.claimed}
        return {"what": self.what} | {
            key: rounded(number) for key, number in numbers.items() if number is not None
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, in our words, and how it fared."""

    name: str
    where: str
    statement: str
    rule: str  # how the verdict follows from the numbers
    measured: tuple[Measurement, ...]
    verdict: Verdict
    why: str = ""  # what does not hold must be explained

    def __post_init__(self) -> None:
        if self.verdict is not Verdict.HOLDS and not self.why:
            raise ValueError(f"{self.name} {self.verdict.value}, and nothing says why")

    def plain(self) -> dict[str, Any]:
        """For a file."""
        return {
            "name": self.name,
            "where": self.where,
            "statement": self.statement,
            "verdict": self.verdict.value,
            "rule": self.rule,
            "measured": [number.plain() for number in self.measured],
            "why": self.why,
        }


def rounded(number: float) -> float:
    """To a few significant digits."""
    return float(f"{number:.{DIGITS}g}")


# What `together` does, for the rules.
JOINED = "The verdict is theirs if they agree, and in part otherwise."


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict of several: theirs if they agree, and in part otherwise."""
    return verdicts[0] if len(set(verdicts)) == 1 else Verdict.PART


def above(estimate: IntervalEstimate, threshold: float) -> Verdict:
    """Holds or not if the whole interval says so; between, the runs are too few to tell."""
    if estimate.low > threshold:
        return Verdict.HOLDS
    return Verdict.FAILS if estimate.high < threshold else Verdict.UNTESTED


def below(estimate: IntervalEstimate, threshold: float) -> Verdict:
    """The same the other way."""
    if estimate.high < threshold:
        return Verdict.HOLDS
    return Verdict.FAILS if estimate.low > threshold else Verdict.UNTESTED


def both(holds: bool, too: bool) -> Verdict:
    """Of two conditions that no chance enters."""
    return together([Verdict.HOLDS if one else Verdict.FAILS for one in (holds, too)])


def explained(verdict: Verdict, why: str) -> str:
    """What to say of a verdict that is not plain."""
    if verdict is Verdict.HOLDS:
        return ""
    return f"The runs do not decide it. {why}" if verdict is Verdict.UNTESTED else why


def in_words(estimate: IntervalEstimate, unit: str = "") -> str:
    """A number with its interval, for a sentence."""
    value, low, high = (_fixed(end) for end in (estimate.value, estimate.low, estimate.high))
    return f"{value}{unit} ({low} to {high})"


def _fixed(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00")
