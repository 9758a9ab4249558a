"""The paper's claims, each with its measurements and the verdict that follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bentham.reproduce.curves import IntervalEstimate

DIGITS = 4  # significant digits in files; further digits differ between machines


class Verdict(StrEnum):
    """Whether the measurements support a claim."""

    HOLDS = "holds"
    PART = "holds in part"
    FAILS = "does not hold"
    UNTESTED = "cannot be tested"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number behind a verdict, with its 95 % interval if it has one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    claimed: float | None = None

    @staticmethod
    def of(name: str, estimate: IntervalEstimate, claimed: float | None = None) -> "Measurement":
        """Make a measurement from an estimate; without an interval if that is infinite."""
        if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
            return Measurement(name, estimate.value, claimed=claimed)
        return Measurement(name, estimate.value, estimate.low, estimate.high, claimed)

    def plain(self) -> dict[str, Any]:
        """Return the measurement as JSON data, rounded and without missing values."""
        numbers = {"value": self.value, "low": self.low, "high": self.high, "paper": self.claimed}
        return {"what": self.name} | {
            key: rounded(number) for key, number in numbers.items() if number is not None
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, in our words, and its verdict."""

    name: str
    where: str
    statement: str
    rule: str  # how the verdict follows from the numbers
    measured: tuple[Measurement, ...]
    verdict: Verdict
    why: str = ""  # the analysis; required unless the claim holds

    def __post_init__(self) -> None:
        if self.verdict is not Verdict.HOLDS and not self.why:
            raise ValueError(f"{self.name} {self.verdict.value}, but `why` is empty")

    def plain(self) -> dict[str, Any]:
        """Return the claim as JSON data."""
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
    """Round to `DIGITS` significant digits."""
    return float(f"{number:.{DIGITS}g}")


# How `together` combines verdicts, alone and with `above` and `below`; part of the rules.
JOINED = (
    "All met: holds. All failed: does not hold. All undecided: cannot be tested. Mixed: holds in "
    "part."
)
DECIDED = (
    "A condition is met or failed if its whole 95 % interval agrees, and otherwise undecided. "
    f"{JOINED}"
)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine verdicts: the common one if they agree, otherwise 'holds in part'."""
    return verdicts[0] if len(set(verdicts)) == 1 else Verdict.PART


def above(estimate: IntervalEstimate, threshold: float) -> Verdict:
    """Decide by the whole interval; if it contains the threshold, there are too few runs."""
    if estimate.low > threshold:
        return Verdict.HOLDS
    return Verdict.FAILS if estimate.high < threshold else Verdict.UNTESTED


def below(estimate: IntervalEstimate, threshold: float) -> Verdict:
    """Like `above`, but the claim is that the number is below the threshold."""
    if estimate.high < threshold:
        return Verdict.HOLDS
    return Verdict.FAILS if estimate.low > threshold else Verdict.UNTESTED


def both(first: bool, second: bool) -> Verdict:
    """Combine two conditions that are not random."""
    return together([Verdict.HOLDS if holds else Verdict.FAILS for holds in (first, second)])


def explained(verdict: Verdict, why: str) -> str:
    """Return the analysis of a verdict: empty if the claim holds."""
    if verdict is Verdict.HOLDS:
        return ""
    return f"The runs do not decide this claim. {why}" if verdict is Verdict.UNTESTED else why


def in_words(estimate: IntervalEstimate, unit: str = "") -> str:
    """Format a number with its interval for a sentence."""
    value, low, high = (_fixed(end) for end in (estimate.value, estimate.low, estimate.high))
    return f"{value}{unit} ({low} to {high})"


def _fixed(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00")
