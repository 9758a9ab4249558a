"""Stop rules: when a study is over, in the live service and in what-ifs.

rule           a study is over when
trials         this many of its trials have ended, with or without a score
cost           its trials have used this much device time, in seconds
deadline       this time is reached
expected_gain  no untried model is expected to add this much to its best score

It is over in any case when every model has been tried.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

TRIALS, COST, DEADLINE, GAIN = "trials", "cost", "deadline", "expected_gain"
StopRules = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        ended: Number of trials that have ended, with or without a score.
        device_seconds: Device time of its trials, in seconds.
        scored: Whether any trial has ended with a score.
        untried: Whether any model is untried.
        running: Returns whether any trial is running; called only if a rule needs it.
        prospect: Returns the most that an untried model is expected to add to the best score;
            called only if a rule needs it. None while the study is not served.
    """

    ended: int
    device_seconds: float
    scored: bool
    untried: bool
    running: Callable[[], bool]
    prospect: Callable[[], float] | None


def trial_limit_reached(stop: StopRules, started: int) -> bool:
    """Return whether the study may not start another trial under its rule for trials."""
    most = stop.get(TRIALS)
    return most is not None and started >= most


def stop_reason(stop: StopRules, progress: StudyProgress, now: float) -> str | None:
    """Return why a study is over; None if it is not."""
    trials, cost, deadline, gain = (stop.get(rule) for rule in (TRIALS, COST, DEADLINE, GAIN))
    if trials is not None and progress.ended >= trials:
        return f"stop rule: {trials:g} trials"
    if cost is not None and progress.device_seconds >= cost:
        return f"stop rule: {cost:g} s of device time"
    if deadline is not None and now >= deadline:
        return "stop rule: the deadline"
    if not progress.untried and not progress.running():
        return "every model was tried" if progress.scored else "every model failed"
    # A running trial may still raise the best score, or be lost and leave its model to be tried.
    if gain is not None and progress.prospect and progress.scored and not progress.running():
        prospect = progress.prospect()
        if prospect < gain:
            return f"stop rule: expected gain {prospect:.3g} below {gain:g}"
    return None
