"""What if: in worlds where everything is certain, times can be reckoned by hand."""

from typing import Any

import pytest
from support.pools import Story, lively

from bentham.forecast import Question, forecast
from bentham.forecast.forecast import DEVICES
from bentham.forecast.summary import quantile
from bentham.service.fold import events as happened
from bentham.service.views.estimates import Estimates
from bentham.service.views.overview import RegretSum


def asked(story: Story, regret: float | None = 0.1, devices: int = 1, **options: Any) -> Any:
    """The whole answer, as whoever reads all pieces has it."""
    question = Question(regret, devices, options.pop("draws", 2))
    found: dict[str, Any] = {}
    for piece in forecast(story.pool, question, story.now, **options):
        found.update(piece)
    return found


def times(found: Any, devices: int) -> list[float | None]:
    """The median times of both policies."""
    answers = {(each["devices"], each["policy"]): each for each in found["answers"]}
    return [answers[devices, policy]["median"] for policy in ("bentham", "round-robin")]


def two_studies(**options: Any) -> Story:
    story = Story()
    for name in ("x", "y"):
        story.study(name, **options)
    return story


def test_one_device_takes_the_sum_of_costs() -> None:
    """quick (10 s, to 0.5) and good (40 s, to 0.9) of two studies, from a mean regret of 0.9.

    Bentham: quick of x, quick of y, good of x, good of y, since 0.5 / 10 is the highest rate.
    Round robin: good of x, good of y, since each study begins with its best.
    """
    story = two_studies()
    found = asked(story)
    assert (found["estimate"], found["studies"], found["now"]) == (0.9, 2, 0)
    assert times(found, 1) == [10 + 10 + 40 + 40, 40 + 40]
    assert times(asked(story, regret=0.3), 1) == [10 + 10 + 40, 40 + 40]
    assert times(asked(story, regret=0.4), 1) == [10 + 10, 40 + 40]
    assert times(asked(story, regret=0.9), 1) == [0.0, 0.0]
    assert times(found, 2) == [10 + 40, 40]
    assert times(found, 64) == [40, 40]  # with devices for all, everything runs at once
    for answer in found["answers"]:
        assert answer["low"] == answer["median"] == answer["high"]
        assert answer["reached"] == 1.0
    curve = found["curves"][0]
    assert (curve["devices"], curve["policy"]) == (1, "bentham")
    at = dict(zip(curve["times"], curve["regret"], strict=True))
    assert [at[time] for time in (0.0, max(at))] == [0.9, 0.0]
    assert at[min(time for time in at if time >= 20.0)] == 0.4


def test_what_is_asked_for_is_half_of_now_and_twice_the_devices() -> None:
    story = two_studies()
    story.devices(3)
    found: dict[str, Any] = {}
    for piece in forecast(story.pool, Question(draws=1), 0.0):
        found.update(piece)
    assert (found["regret"], found["devices"], found["now"]) == (0.45, 6, 3)
    assert [answer["devices"] for answer in found["answers"][::2]] == list(DEVICES)
    assert {curve["devices"] for curve in found["curves"]} == {3, 6}


def test_running_trials_go_on_and_surplus_devices_leave_after_them() -> None:
    story = two_studies()
    story.devices(2)
    for device in ("gpu-0", "gpu-1"):
        assert story.start(device).decision.model == "quick"
    story.now = 4.0  # both have 6 seconds to go
    # One device is left then: good of x ends at 46, good of y at 86.
    assert times(asked(story, devices=1), 1) == [6 + 40 + 40, 6 + 40 + 40]
    assert times(asked(story, devices=2), 2) == [6 + 40, 6 + 40]
    # Two more begin with good at once.
    assert times(asked(story, devices=4), 4) == [40, 40]
    story.now = 15.0  # they are late: taken to need twice the time that they ran
    assert times(asked(story, devices=2), 2) == [15 + 40, 15 + 40]


def test_limits_of_running_trials_hold() -> None:
    story = Story()
    story.tenant("a", running_trials=1.0)
    story.tenant("b", device_seconds_per_day=5.0)
    for name in ("x", "y"):
        story.study(name)
    found = asked(story, devices=4)
    assert times(found, 4) == times(found, 1) == [100, 80]
    assert any("Limits of device time" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("stop", "ends"),
    [
        ({"trials": 1.0}, [None, 80]),  # only quick is run
        ({"cost": 5.0}, [None, 80]),
        ({"deadline": 30.0}, [None, None]),  # good of x has begun, and ends; that of y has not
        ({"expected_gain": 0.5}, [None, 80]),  # after quick, good would bring only 0.4
        ({"expected_gain": 0.3, "trials": 9.0, "cost": 1e6, "deadline": 1e6}, [100, 80]),
    ],
)
def test_stop_rules_end_studies(stop: dict[str, float], ends: list[float | None]) -> None:
    found = asked(two_studies(stop=stop))
    assert times(found, 1) == ends
    assert any("stop rule" in note for note in found["notes"])
    answers = [answer for answer in found["answers"] if answer["devices"] == 1]
    assert [answer["reached"] for answer in answers] == [float(end is not None) for end in ends]


def test_what_was_cut_is_said() -> None:
    story = two_studies()
    cut = asked(story, decisions=2)
    assert times(cut, 1) == [None, 80]
    assert [note for note in cut["notes"] if "given up after 2 decisions" in note]
    clock = iter(range(100))
    late = asked(story, seconds=30.0, clock=lambda: next(clock))
    assert (late["simulated"], late["progress"]) == (1, 1.0)
    assert [note for note in late["notes"] if "1 of 2 draws" in note]
    assert asked(Story())["notes"] == ["No study is being served, so there is nothing to simulate."]


def test_paused_studies_and_kinds_are_told_of() -> None:
    story = two_studies()
    story.devices(1, "fast")
    story.devices(1)
    story.add(happened.StudyPaused("y"))
    found = asked(story)
    assert found["studies"] == 1
    assert times(found, 1) == [50, 40]
    assert len(found["notes"]) == 2


def test_mean_regret_now_is_that_of_the_overview() -> None:
    story = lively(studies=5)
    estimates = Estimates().estimate(story.pool, story.pool.studies.values())
    total = RegretSum()
    for study in story.pool.studies.values():
        total.add(study, estimates[study.id])
    assert total.mean() > 0.0
    assert asked(story)["estimate"] == pytest.approx(total.mean(), rel=1e-5)


def test_the_same_log_gives_the_same_answer() -> None:
    pieces = []
    for _ in range(2):
        story = lively()
        question = Question(devices=3, draws=3)
        pieces.append(list(forecast(story.pool, question, story.now)))
        before = lively().pool.scheduler
        for device in ("gpu-0", "gpu-1"):  # and the pool is as it was
            trial = story.pool.scheduler.devices[device]
            assert trial is not None
            for scheduler in (before, story.pool.scheduler):
                scheduler.tell(trial, 0.9, time=story.now + 1.0)
            assert before.ask(device) == story.pool.scheduler.ask(device)
    assert pieces[0] == pieces[1]
    last = pieces[0][-1]
    assert last["simulated"] == 3
    assert {answer["reached"] for answer in last["answers"]} == {1.0}
    for answer in last["answers"]:
        assert 0.0 <= answer["low"] <= answer["median"] <= answer["high"]
    for curve in last["curves"]:
        assert all(a <= b <= c for a, b, c in zip(
            curve["low"], curve["regret"], curve["high"], strict=True
        ))  # fmt: skip
    other = list(forecast(lively().pool, Question(devices=3, draws=3, seed=1), 0.0))
    assert other[-1]["answers"] != last["answers"]
    shares = [piece["progress"] for piece in pieces[0] if "progress" in piece]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    # The first answer is that for the devices there are.
    first = next(piece for piece in pieces[0] if "answers" in piece)
    assert [answer["devices"] for answer in first["answers"]] == [2]


def test_quantiles_count_what_never_comes_as_infinite() -> None:
    never = float("inf")
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0, 2.0], 0.5) == 1.5
    assert quantile([1.0, never], 0.5) == never
    assert quantile([1.0, 2.0, never], 0.5) == 2.0
    assert quantile([never], 0.1) == never


def test_out_of_time_all_rows_are_of_the_same_worlds() -> None:
    story, clock = lively(), iter(range(1000))
    one = asked(story, regret=0.01, draws=1)
    late = asked(
        story, regret=0.01, draws=5, seconds=len(one["answers"]) + 3, clock=lambda: next(clock)
    )
    assert late["simulated"] == 1
    assert late["answers"] == one["answers"]
    assert late["curves"] == one["curves"]
