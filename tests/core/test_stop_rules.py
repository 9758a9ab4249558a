"""Stop rules of studies."""

import pytest

from bentham.core.problem.stop_rules import (
    Prospect,
    StudyProgress,
    stop_reason,
    trial_limit_reached,
)


def never() -> Prospect:
    raise AssertionError("computed although no rule needs it")


def progress(
    ended: int = 0,
    seconds: float = 0.0,
    scored: bool = True,
    untried: bool = True,
    running: bool = False,
    gain: float | None = 1.0,
    together: float = 9.0,
    gained: float = 0.0,
    perfect: bool = False,
) -> StudyProgress:
    prospect = None if gain is None else (lambda: Prospect(gain, together, gained))
    return StudyProgress(ended, seconds, scored, untried, perfect, lambda: running, prospect)


@pytest.mark.parametrize(
    ("stop", "known", "reason"),
    [
        ({}, progress(), None),
        ({"trials": 3.0}, progress(ended=2), None),
        ({"trials": 3.0}, progress(ended=3), "stop rule: 3 trials"),
        ({"cost": 60.0}, progress(seconds=59.0), None),
        ({"cost": 60.0}, progress(seconds=60.0), "stop rule: 60 s of device time"),
        ({"deadline": 101.0}, progress(), None),
        ({"deadline": 100.0}, progress(), "stop rule: the deadline"),
        ({}, progress(untried=False), "every model was tried"),
        ({}, progress(untried=False, scored=False), "every model failed"),
        ({}, progress(untried=False, running=True), None),
        ({"expected_gain": 0.5}, progress(gain=0.5), None),
        ({"expected_gain": 0.5}, progress(gain=0.4), "stop rule: expected gain 0.4 below 0.5"),
        ({"expected_gain": 0.5}, progress(gain=0.4, running=True), None),
        ({"expected_gain": 0.5}, progress(gain=0.4, scored=False), None),
        ({"expected_gain": 0.5}, progress(gain=None), None),
        ({"gain_share": 0.01}, progress(together=0.005, gained=0.5), None),
        (
            {"gain_share": 0.01},
            progress(together=0.00499, gained=0.5),
            "all untried models together are expected to add 0.005, less than 1 % of the 0.5 "
            "gained over the baseline",
        ),
        ({"gain_share": 0.01}, progress(together=0.001, gained=0.5, running=True), None),
        ({"gain_share": 0.01}, progress(together=0.001, gained=0.5, scored=False), None),
        ({"gain_share": 0.01}, progress(together=0.0, gained=0.0), None),
        ({"gain_share": 0.01}, progress(together=0.0, gained=-0.1), None),
        ({"gain_share": 0.01}, progress(together=float("nan"), gained=0.5), None),
        ({"gain_share": 0.0}, progress(together=0.0, gained=0.5, perfect=True), None),
        (
            {"gain_share": 0.01},
            progress(perfect=True, running=True),
            "the best score is the highest possible",
        ),
    ],
)
def test_each_rule(stop: dict[str, float], known: StudyProgress, reason: str | None) -> None:
    assert stop_reason(stop, known, now=100.0) == reason


def test_values_are_computed_only_when_needed() -> None:
    known = StudyProgress(0, 0.0, True, True, False, lambda: bool(never()), never)
    assert stop_reason({"trials": 9.0, "cost": 9.0}, known, 0.0) is None


def test_the_trial_limit() -> None:
    assert not trial_limit_reached({}, 10**6)
    assert not trial_limit_reached({"trials": 3.0}, 2)
    assert trial_limit_reached({"trials": 3.0}, 3)
