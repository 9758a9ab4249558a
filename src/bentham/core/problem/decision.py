"""A decision: the arm picked for a free device, with the figures that justify it."""

import math
from dataclasses import dataclass
from enum import StrEnum

# A device is named by whoever owns it: a number in a simulation, a host in a cluster.
DeviceName = str | int

# How many arms that came next a decision names, and so how many a policy ranks.
RUNNERS_UP = 3
RANKED = 1 + RUNNERS_UP

# What a Change is called when weights made it.
WEIGHTS = "weights"


class Reason(StrEnum):
    """Who picked the arm."""

    WARM_START = "warm-start"
    POLICY = "policy"
    GUARD = "starvation-guard"  # a study had waited for too long


@dataclass(frozen=True, slots=True)
class Gain:
    """One study's expected improvement from an arm, times its weight: a term of Eq. (4)."""

    study: str
    expected_improvement: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """An arm that was considered and came after; `value` is what the policy ranked by."""

    study: str
    dataset: str
    model: str
    value: float


@dataclass(frozen=True, slots=True)
class Change:
    """A rule that changed the outcome, and what would have been run without it.

    `rule` is "weights", "starvation-guard", or what the driver called a tenant's limit.
    """

    rule: str
    instead: RunnerUp


@dataclass(frozen=True, slots=True)
class Decision:
    """What to run next on a device, for whom, and why.

    `study` is on whose behalf the arm was picked: the lowest that lists it, unless the policy
    picks the study first, or it is the study's turn in a warm start. `value` is what the policy
    ranked by (the EI rate for `mdmt`), None for a warm start, whose runners-up are what the policy
    would have run instead.
    """

    trial: int
    device: DeviceName
    study: str
    dataset: str
    model: str
    reason: Reason
    value: float | None
    cost: float
    gains: tuple[Gain, ...]
    expected_improvement: float
    rate: float
    runners_up: tuple[RunnerUp, ...]
    changes: tuple[Change, ...] = ()


def figure(value: float, otherwise: float = 0.0) -> float:
    """A figure as it can be recorded: what is no number promises nothing."""
    return float(value) if math.isfinite(value) else otherwise
