"""Stop rules: when a study is over, in the live service and in what-ifs.

rule           a study is over when
trials         this many of its trials have ended, with or without a score
cost           its trials have used this much device time, in seconds
deadline       this time is reached
expected_gain  no untried model is expected to add this much to its best score
gain_share     all its untried models together are expected to add less than this share of what it
               has gained over its floor, or its best score is the highest possible

It is over in any case when every model has been tried.

Under `gain_share` the core starts no more trials of the study, even while others are running. The
sum of the expected improvements is an upper bound of what all models together are expected to add,
so the rule errs on the side of running them (see docs/decisions/0023-when-a-study-ends.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

TRIALS, COST, DEADLINE, GAIN = "trials", "cost", "deadline", "expected_gain"
GAIN_SHARE = "gain_share"
# Chosen on other tables than it is reported on: docs/decisions/0023-when-a-study-ends.md.
DEFAULT_GAIN_SHARE = 0.001
StopRules = Mapping[str, float | None]


class Prospect(NamedTuple):
    """What the untried models of a study are expected to add to its best score.

    Attributes:
        largest: The largest EI of a model, unweighted.
        together: The sum of their EI, unweighted.
        gained: What the study has gained over its floor; 0 before the first score.
    """

    largest: float
    together: float
    gained: float

    def negligible(self, share: float) -> bool:
        """Return whether they add less than this share of the gain; never if one is NaN."""
        return self.gained > 0.0 and self.together < share * self.gained


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        ended: Number of trials that have ended, with or without a score.
        device_seconds: Device time of its trials, in seconds.
        scored: Whether any trial has ended with a score.
        untried: Whether any model is untried.
        perfect: Whether no score can be higher than its best one.
        running: Returns whether any trial is running; called only if a rule needs it.
        prospect: Returns what the untried models are expected to add; called only if a rule needs
            it. None while the study is not served.
    """

    ended: int
    device_seconds: float
    scored: bool
    untried: bool
    perfect: bool
    running: Callable[[], bool]
    prospect: Callable[[], Prospect] | None


def has_rule(stop: StopRules) -> bool:
    """Return whether a rule may end the study before every model has been tried."""
    return any(
        value is not None and (rule != GAIN_SHARE or value > 0.0) for rule, value in stop.items()
    )


def trial_limit_reached(stop: StopRules, started: int) -> bool:
    """Return whether the study may not start another trial under its rule for trials."""
    most = stop.get(TRIALS)
    return most is not None and started >= most


def stop_reason(stop: StopRules, progress: StudyProgress, now: float) -> str | None:
    """Return why a study is over; None if it is not."""
    trials, cost, deadline, gain = (stop.get(rule) for rule in (TRIALS, COST, DEADLINE, GAIN))
    share = stop.get(GAIN_SHARE)
    if trials is not None and progress.ended >= trials:
        return f"stop rule: {trials:g} trials"
    if cost is not None and progress.device_seconds >= cost:
        return f"stop rule: {cost:g} s of device time"
    if deadline is not None and now >= deadline:
        return "stop rule: the deadline"
    if not progress.untried and not progress.running():
        return "every model was tried" if progress.scored else "every model failed"
    if share and progress.perfect:
        return "the best score is the highest possible"
    # A running trial may still raise the best score, or be lost and leave its model to be tried.
    asked = gain is not None or share
    if asked and progress.prospect and progress.scored and not progress.running():
        prospect = progress.prospect()
        if gain is not None and prospect.largest < gain:
            return f"stop rule: expected gain {prospect.largest:.3g} below {gain:g}"
        if share and prospect.negligible(share):
            return (
                f"all untried models together are expected to add {prospect.together:.2g}, less "
                f"than {100.0 * share:g} % of the {prospect.gained:.3g} gained over the baseline"
            )
    return None
