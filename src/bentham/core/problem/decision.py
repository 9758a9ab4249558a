"""A decision: the arm picked for an idle device, with the figures that justify it."""

import math
from dataclasses import dataclass
from enum import StrEnum

# The caller names devices: a number in a simulation, a host name in a cluster.
DeviceName = str | int

# A decision names this many runners-up, so a policy ranks one arm more.
RUNNERS_UP = 3
RANKED = 1 + RUNNERS_UP

# `Change.rule` if the weights of studies changed the outcome.
WEIGHTS = "weights"


class Reason(StrEnum):
    """What picked the arm."""

    WARM_START = "warm-start"
    POLICY = "policy"
    GUARD = "starvation-guard"  # a study had waited too long


@dataclass(frozen=True, slots=True)
class Gain:
    """One study's expected improvement (EI) from an arm: a term of Eq. (4).

    Attributes:
        study: Name of the study.
        expected_improvement: The study's EI, already multiplied by its weight.
        weight: Weight of the study. Default: 1.
    """

    study: str
    expected_improvement: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """An arm that was considered but not chosen.

    Attributes:
        study: Study that the arm was considered for.
        dataset: Dataset of the arm.
        model: Model of the arm.
        value: The number that the policy ranked it by, such as the EI rate.
    """

    study: str
    dataset: str
    model: str
    value: float


@dataclass(frozen=True, slots=True)
class Change:
    """A rule that changed the outcome of a decision.

    Attributes:
        rule: "weights", "starvation-guard", or the caller's name for a tenant's limit.
        instead: The arm that would have run without the rule.
    """

    rule: str
    instead: RunnerUp


@dataclass(frozen=True, slots=True)
class Decision:
    """The arm to run next on a device, and why it was chosen.

    Attributes:
        trial: Number of the trial, counted from 0; pass it to `Scheduler.tell`, `fail` or `lose`.
        device: Device that runs the trial.
        study: Study that the arm was picked for: the first one added that lists the arm, unless
            the policy picks the study first or it is the study's turn in a warm start.
        dataset: Dataset of the arm.
        model: Model of the arm.
        reason: What picked the arm.
        value: The number that the policy ranked the arm by; None for a warm start. For `mdmt` it is
            `rate`, for `joint` the same given the running trials.
        cost: Expected cost of the arm, in the unit of the studies' costs.
        gains: EI of each study that lists the arm, as if nothing else were running.
        expected_improvement: Weighted EI, summed over those studies: Eq. (4).
        rate: `expected_improvement` / `cost`: the EI rate as if nothing else were running.
        runners_up: Up to 3 arms that ranked next, best first; for a warm start, the arms that the
            policy would have run instead.
        changes: Rules without which another arm would have run. Default: none.
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

    @property
    def ranked(self) -> float:
        """The number to show for the decision: what it was ranked by; for a warm start, `rate`."""
        return self.rate if self.value is None else self.value


def figure(value: float, otherwise: float = 0.0) -> float:
    """Return the value as a float that can be recorded: `otherwise` if it is NaN or infinite."""
    return float(value) if math.isfinite(value) else otherwise
