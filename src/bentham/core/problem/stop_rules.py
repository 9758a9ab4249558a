"""When a study is over: its stop rules, for the live service and for what-if alike.

rule           a study is over when
trials         this many of its trials ended, with a score or without
cost           its trials have used this much device time, in seconds
deadline       this time has come
expected_gain  no untried model is expected to add this much to its best score

It is over in any case when every model was tried.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

TRIALS, COST, DEADLINE, GAIN = "trials", "cost", "deadline", "expected_gain"
StopRules = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """How far a study is.

    `ended` counts trials that ended, with a score or without. `running` says whether any of its
    models is being tried, and `prospect` is the most that an untried model is expected to add, or
    None while the study is not served. Both are computed only when a rule needs them.
    """

    ended: int
    device_seconds: float
    scored: bool
    untried: bool  # whether any model is
    running: Callable[[], bool]
    prospect: Callable[[], float] | None


def wants_no_more(stop: StopRules, started: int) -> bool:
    """Whether as many trials were started as the study may have: none is started then."""
    most = stop.get(TRIALS)
    return most is not None and started >= most


def stop_reason(stop: StopRules, progress: StudyProgress, now: float) -> str | None:
    """Why a study is over, None if it is not."""
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
