"""Ask and tell, and all events that may come between."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from support.problems import next_arm
from support.problems import small_prior as prior
from support.problems import small_scheduler as scheduler

from bentham.core import (
    Event,
    Scheduler,
    SharedPrior,
    StudySpec,
    event_from_dict,
    event_to_dict,
)
from bentham.core.problem.events import ArmFailed, ArmLost, ArmObserved, ArmStarted
from bentham.errors import IllegalEvent, InvalidInput


class TestTrials:
    def test_lost_arms_are_retried_until_no_attempts_are_left(self) -> None:
        s = scheduler(attempts=2)
        s.add_study("a", {"m0": 1.0})
        s.add_device(0)
        for trial in range(2):
            assert next_arm(s, 0) == ("a", "m0")
            s.lose(trial)
        assert s.ask(0) is None
        assert s.incumbent("a") is None

    def test_failed_arms_are_not_retried(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_device(0)
        first = next_arm(s, 0)
        s.fail(0, "out of memory")
        second = next_arm(s, 0)
        assert {first[1], second[1]} == {"m0", "m1"}
        s.tell(1, 0.3)
        assert s.ask(0) is None
        assert s.incumbent("a") == (second[1], 0.3)

    def test_a_trial_is_reported_once(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_device(0)
        next_arm(s, 0)
        s.tell(0, 0.5)
        before = s.beliefs("a")
        for report in (ArmObserved(0.0, 0, 0.9), ArmFailed(0.0, 0, ""), ArmLost(0.0, 0)):
            with pytest.raises(IllegalEvent, match="trial 0 has already ended; report each"):
                s.apply(report)
        with pytest.raises(IllegalEvent, match="there is no trial 7"):
            s.tell(7, 0.9)
        assert s.beliefs("a") == before

    @pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
    def test_a_score_is_finite(self, score: float) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0})
        s.add_device(0)
        next_arm(s, 0)
        with pytest.raises(InvalidInput, match="report a trial without a score as failed"):
            s.tell(0, score)
        s.tell(0, 0.5)  # the rejected report changed nothing

    def test_the_first_of_equal_scores_stays_the_incumbent(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_device(0)
        first = next_arm(s, 0)[1]
        s.tell(0, 0.5)
        next_arm(s, 0)
        s.tell(1, 0.5)
        assert s.incumbent("a") == (first, 0.5)

    def test_scores_below_the_floor_become_the_incumbent(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0}, floor=0.0)
        s.add_device(0)
        model = next_arm(s, 0)[1]
        s.tell(0, -2.0)
        assert s.incumbent("a") == (model, -2.0)


class TestDevices:
    def test_add_and_remove(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_device("gpu-0")
        arm = next_arm(s, "gpu-0")
        s.remove_device("gpu-0")  # and its trial
        assert s.devices == {}
        s.add_device(1)
        assert next_arm(s, 1) == arm

    def test_misuse(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        with pytest.raises(IllegalEvent, match="no device 'x'; add it with add_device"):
            s.ask("x")
        s.add_device("x")
        with pytest.raises(IllegalEvent, match="already exists"):
            s.add_device("x")
        s.ask("x")
        with pytest.raises(IllegalEvent, match="runs trial 0"):
            s.ask("x")
        with pytest.raises(IllegalEvent, match="no device 'y'"):
            s.remove_device("y")


class TestStudies:
    def test_a_new_study_uses_earlier_observations_of_its_dataset(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0}, dataset="d")
        s.add_device(0)
        model = next_arm(s, 0)[1]
        s.tell(0, 0.8)
        s.add_study("b", {"m0": 1.0, "m1": 1.0, "m2": 1.0}, dataset="d")
        assert s.incumbent("b") == (model, 0.8)

    def test_a_dataset_keeps_observations_after_its_last_study_is_removed(self) -> None:
        s = scheduler()
        costs = {"m0": 1.0, "m1": 2.0, "m2": 3.0}
        s.add_study("a", costs)
        for device in range(2):
            s.add_device(device)
        first, second = next_arm(s, 0)[1], next_arm(s, 1)[1]
        s.tell(0, 0.8)
        beliefs = s.beliefs("a")
        s.remove_study("a")
        assert s.ask(0) is None
        s.tell(1, 0.9)  # a trial of a removed study is still observed
        s.add_study("again", costs, dataset="a")
        assert s.incumbent("again") == (second, 0.9)
        assert s.beliefs("again")[first] == beliefs[first]
        third = next_arm(s, 0)[1]
        assert {first, second, third} == set(costs)
        assert s.ask(1) is None

    def test_removing_a_study_keeps_the_arms_of_the_other(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0, "m1": 1.0}, dataset="d")
        s.add_study("b", {"m1": 1.0}, dataset="d")
        s.remove_study("a")
        s.add_device(0)
        assert next_arm(s, 0) == ("b", "m1")

    def test_misuse(self) -> None:
        s = scheduler()
        s.add_study("a", {"m0": 1.0}, dataset="d")
        with pytest.raises(IllegalEvent, match="'a' is already being served"):
            s.add_study("a", {"m0": 1.0})
        with pytest.raises(InvalidInput, match="one arm has one cost"):
            s.add_study("b", {"m0": 2.0}, dataset="d")
        with pytest.raises(IllegalEvent, match="no study 'z'"):
            s.remove_study("z")
        with pytest.raises(IllegalEvent, match="no study 'z'"):
            s.incumbent("z")
        assert s.studies == ("a",)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"costs": {}}, "lists no models"),
            ({"costs": {"m0": 0.0}}, "cost of model 'm0' is 0.0"),
            ({"costs": {"m0": -1.0}}, "cost"),
            ({"costs": {"m0": 1e-60}}, "from 1e-50 to"),
            ({"costs": {"m0": math.inf}}, "from 1e-50 to"),
            ({"costs": {"m0": math.nan}}, "cost"),
            ({"costs": {"m0": 1.0}, "weight": 0.0}, "weight"),
            ({"costs": {"m0": 1.0}, "floor": math.inf}, "floor"),
            ({"costs": {"m0": 1.0}, "name": ""}, "non-empty string"),
        ],
    )
    def test_invalid_studies(self, options: dict[str, object], words: str) -> None:
        with pytest.raises(InvalidInput, match=words):
            StudySpec(**{"name": "s", **options})  # type: ignore[arg-type]


def test_numpy_scalars_are_converted() -> None:
    events: list[Event] = []
    s = scheduler(record=events.append)
    s.add_study("a", {"m0": np.float32(1.5)}, weight=np.int64(2))  # type: ignore[arg-type, dict-item]
    s.add_device(0, time=np.float64(1.0))
    s.ask(0)
    s.tell(np.int64(0), np.float32(0.5))  # type: ignore[arg-type]
    for event in events:
        assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event


@pytest.mark.parametrize("score", [1e51, -1e308])
def test_scores_that_would_overflow_are_refused(score: float) -> None:
    s = scheduler()
    s.add_study("a", {"m0": 1.0})
    s.add_device(0)
    s.ask(0)
    with pytest.raises(InvalidInput, match="score"):
        s.tell(0, score)


def test_a_dataset_with_nothing_to_decide_is_not_recomputed() -> None:
    s = scheduler()
    s.add_study("a", {"m0": 1.0, "m1": 1.0})
    s.add_study("b", {"m0": 1.0, "m1": 1.0})
    s.add_device(0)
    s.ask(0)
    s.tell(0, 0.5)
    block = s._state.study("a").block
    s.remove_study("a")
    assert s.ask(0) is not None
    assert not block.belief.computed
    # The same holds once all arms are tried, until one of them is lost.
    s.tell(1, 0.1)
    last = s.ask(0)
    assert last is not None
    block = s._state.study("b").block
    assert not block.belief.computed
    known = s.beliefs("b")
    s.lose(2)
    again = s.ask(0)
    assert again is not None
    assert (again.model, again.gains) == (last.model, last.gains)
    assert s.beliefs("b") == known
    assert not block.belief.computed


def test_weights_change_the_decision() -> None:
    s = scheduler()
    s.add_study("light", {"m0": 1.0})
    s.add_study("heavy", {"m0": 1.0}, weight=2.0)
    s.add_device(0)
    assert next_arm(s, 0)[0] == "heavy"


def test_accepted_events_are_recorded_in_order() -> None:
    events: list[Event] = []
    s = scheduler(record=events.append)
    s.add_study("a", {"m0": 1.0}, time=1.0)
    s.add_device(0, time=2.0)
    decision = s.ask(0, time=3.0)
    with pytest.raises(IllegalEvent):
        s.tell(5, 1.0, time=4.0)
    s.tell(0, 1.0, time=5.0)
    assert s.ask(0, time=6.0) is None
    assert [event.time for event in events] == [1.0, 2.0, 3.0, 5.0]
    assert events[2] == ArmStarted(3.0, decision)  # type: ignore[arg-type]


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidInput, match="unknown policy 'best'; choose one of joint, mdmt"):
        Scheduler(prior(), "best")
    with pytest.raises(InvalidInput, match="pass a prior object, or None"):
        Scheduler("learned")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="the cost exponent is 1"):
        Scheduler(prior(), cost_exponent="1")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="attempts"):
        Scheduler(prior(), attempts=0)
    with pytest.raises(InvalidInput, match="seed"):
        Scheduler(prior(), seed=-1)
    s = scheduler()
    with pytest.raises(IllegalEvent, match="time is nan"):
        s.add_device(0, time=math.nan)


def with_changes(**changes: object) -> tuple[Scheduler, ArmStarted]:
    s = scheduler("fastest:1")
    s.add_study("a", {"m0": 1.0, "m1": 2.0}, dataset="d")
    s.add_study("b", {"m0": 1.0, "m2": 2.0}, dataset="d")
    s.add_device(0)
    decision = s.decide(0)
    assert decision is not None
    return s, ArmStarted(0.0, replace(decision, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trial": 5}, "trial number 5, but the next one is 0"),
        ({"model": "m2"}, "cannot be run"),  # listed on the dataset, but not by study a
        ({"model": "m9"}, "cannot be run"),
        ({"dataset": "e"}, "cannot be run"),
        ({"study": "z"}, "no study 'z'"),
        ({"device": 7}, "no device 7"),
    ],
)
def test_an_inconsistent_decision_is_refused(changes: dict[str, object], words: str) -> None:
    s, event = with_changes(**changes)
    with pytest.raises(IllegalEvent, match=words):
        s.apply(event)
    assert s.devices == {0: None}
    s.apply(with_changes()[1])  # the rejected event changed nothing


def test_an_unplanned_warm_start_does_not_change_the_plan() -> None:
    s, event = with_changes(model="m1")  # m0 is planned
    s.apply(event)
    s.add_device(1)
    assert next_arm(s, 1) == ("a", "m0")


@pytest.mark.slow
def test_many_studies_on_one_dataset_are_added_quickly() -> None:
    models = [f"m{i}" for i in range(50)]
    s = Scheduler(SharedPrior(models, np.zeros(50), np.eye(50)))
    costs = dict.fromkeys(models, 1.0)
    for number in range(2000):  # took half a minute when all were compared with each other
        s.add_study(f"s{number}", costs, dataset="d")
    s.add_device(0)
    decision = s.ask(0)
    assert decision is not None
    assert len(decision.gains) == 2000


@pytest.mark.parametrize("costs", [{"m0": "x"}, [1], "m0", {"": 1.0}, {"m0": 10**400}, 3])
def test_invalid_costs(costs: object) -> None:
    with pytest.raises(InvalidInput, match=r"costs must map model names \(non-empty strings\) to"):
        scheduler().add_study("s", costs)  # type: ignore[arg-type]


def test_types_of_names_and_trials() -> None:
    s = scheduler()
    with pytest.raises(InvalidInput, match="the name of a study is 7; give a non-empty string"):
        s.add_study(7, {"m0": 1.0})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="the dataset is 5"):
        s.add_study("s", {"m0": 1.0}, dataset=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        s.tell(0.9, 0.3)  # type: ignore[arg-type]
