"""What-if forecasts; with certain scores and costs, times can be computed by hand."""

import itertools
from typing import Any

import pytest
from support.pools import Story, lively

from bentham.forecast import forecast
from bentham.forecast.forecast import DEVICES
from bentham.forecast.summary import quantile
from bentham.service import Question
from bentham.service.fold import events


def ask(story: Story, regret: float = 0.1, devices: int = 1, **options: Any) -> Any:
    """Return the merged pieces of a forecast."""
    found: dict[str, Any] = {}
    for piece in forecast(
        story.pool, asked(story, regret, devices, options.pop("draws", 2)), **options
    ):
        found.update(piece)
    return found


def asked(story: Story, regret: float = 0.1, devices: int = 3, draws: int = 3) -> Question:
    return Question(regret, devices, draws, story.pool.sequence, story.now)


def times(found: Any, devices: int) -> list[float | None]:
    """Return the median times of both policies."""
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
    Round robin: good of x, good of y, since each study starts with its highest EI.
    """
    story = two_studies()
    found = ask(story)
    assert times(found, 1) == [10 + 10 + 40 + 40, 40 + 40]
    assert times(ask(story, regret=0.3), 1) == [10 + 10 + 40, 40 + 40]
    assert times(ask(story, regret=0.4), 1) == [10 + 10, 40 + 40]
    assert times(ask(story, regret=0.9), 1) == [0.0, 0.0]
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


def test_all_numbers_of_devices_are_simulated_and_curves_drawn_for_two() -> None:
    story = two_studies()
    story.devices(3)
    found = ask(story, devices=6, draws=1)
    assert [answer["devices"] for answer in found["answers"][::2]] == list(DEVICES)
    assert {curve["devices"] for curve in found["curves"]} == {3, 6}


def test_running_trials_continue_and_surplus_devices_leave_after_them() -> None:
    story = two_studies()
    story.devices(2)
    for device in ("gpu-0", "gpu-1"):
        assert story.start(device).decision.model == "quick"
    story.now = 4.0  # both have 6 seconds to go
    # One device is left then: good of x ends at 46, good of y at 86.
    assert times(ask(story, devices=1), 1) == [6 + 40 + 40, 6 + 40 + 40]
    assert times(ask(story, devices=2), 2) == [6 + 40, 6 + 40]
    # The two added devices start with good at once.
    assert times(ask(story, devices=4), 4) == [40, 40]
    story.now = 15.0  # overdue: assumed to take twice the time they have run
    assert times(ask(story, devices=2), 2) == [15 + 40, 15 + 40]


def test_limits_on_running_trials_apply() -> None:
    story = Story()
    story.tenant("a", running_trials=1.0)
    story.tenant("b", device_seconds_per_day=5.0)
    for name in ("x", "y"):
        story.study(name)
    found = ask(story, devices=4)
    assert times(found, 4) == times(found, 1) == [100, 80]
    assert any("Daily limits on device time" in note for note in found["notes"])


def test_a_study_that_tries_every_model_has_no_stop_rule() -> None:
    found = ask(two_studies(stop={"gain_share": 0.0}))
    assert not any("stop rule" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("stop", "ends"),
    [
        ({"trials": 1.0}, [None, 80]),  # only quick is run
        ({"cost": 5.0}, [None, 80]),
        (
            {"deadline": 30.0},
            [None, None],
        ),  # good of x has started and completes; that of y has not
        ({"expected_gain": 0.5}, [None, 80]),  # after quick, good would gain only 0.4
        ({"expected_gain": 0.3, "trials": 9.0, "cost": 1e6, "deadline": 1e6}, [100, 80]),
    ],
)
def test_stop_rules_end_studies(stop: dict[str, float], ends: list[float | None]) -> None:
    found = ask(two_studies(stop=stop))
    assert times(found, 1) == ends
    assert any("stop rule" in note for note in found["notes"])
    answers = [answer for answer in found["answers"] if answer["devices"] == 1]
    assert [answer["reached"] for answer in answers] == [float(end is not None) for end in ends]


def test_a_deadline_is_a_time_of_day() -> None:
    later = two_studies(stop={"deadline": 60.0})
    later.now = 50.0
    found, whole = ask(later), ask(two_studies(stop={"deadline": 60.0}))
    assert times(found, 1) == times(ask(two_studies(stop={"deadline": 10.0})), 1)
    assert times(found, 1) != times(whole, 1)


def test_cut_simulations_are_noted() -> None:
    story = two_studies()
    cut = ask(story, decisions=2)
    assert times(cut, 1) == [None, 80]
    assert [note for note in cut["notes"] if "stopped after 2 decisions" in note]
    clock = itertools.count()
    late = ask(story, seconds=30.0, clock=lambda: next(clock))
    assert (late["simulated"], late["progress"]) == (1, 1.0)
    assert [note for note in late["notes"] if "1 of 2 draws" in note]
    early = ask(story, seconds=4.0, clock=lambda: next(clock))
    assert (early["simulated"], len(early["answers"])) == (1, 4)
    assert "answers use 4 of its 24 simulations" in early["notes"][-1]
    never = ask(story, seconds=0.0, clock=lambda: next(clock))
    assert (never["simulated"], never["answers"]) == (0, [])
    assert "not even one simulation" in never["notes"][-1]
    assert ask(Story())["notes"] == ["No study is being served, so there is nothing to simulate."]


def test_paused_studies_and_kinds_are_noted() -> None:
    story = two_studies()
    story.devices(1, "fast")
    story.devices(1)
    story.add(events.StudyPaused("y"))
    found = ask(story)
    assert times(found, 1) == [50, 40]
    assert len(found["notes"]) == 2


def test_the_same_log_gives_the_same_answer() -> None:
    pieces = []
    for _ in range(2):
        story = lively()
        pieces.append(list(forecast(story.pool, asked(story))))
        before = lively().pool.scheduler
        for device in ("gpu-0", "gpu-1"):  # the pool is unchanged
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
    fresh = lively()
    other = list(forecast(fresh.pool, asked(fresh), seed=1))
    assert other[-1]["answers"] != last["answers"]
    shares = [piece["progress"] for piece in pieces[0] if "progress" in piece]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    # The first answer is for the current number of devices.
    first = next(piece for piece in pieces[0] if "answers" in piece)
    assert [answer["devices"] for answer in first["answers"]] == [2]


def test_quantiles_with_infinite_times() -> None:
    never = float("inf")
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0, 2.0], 0.5) == 1.5
    assert quantile([1.0, never], 0.5) == never
    assert quantile([1.0, 2.0, never], 0.5) == 2.0
    assert quantile([never], 0.1) == never


def test_after_a_timeout_all_rows_use_the_same_worlds() -> None:
    story, clock = lively(), iter(range(1000))
    one = ask(story, regret=0.01, draws=1)
    late = ask(
        story, regret=0.01, draws=5, seconds=len(one["answers"]) + 3, clock=lambda: next(clock)
    )
    assert late["simulated"] == 1
    assert late["answers"] == one["answers"]
    assert late["curves"] == one["curves"]
