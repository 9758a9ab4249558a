"""Warm starts: the first trials of every study."""

import pytest
from support.problems import next_arm
from support.problems import small_scheduler as scheduler

from bentham.core.problem.decision import Reason
from bentham.errors import InvalidInput


class TestWarmStart:
    def test_fastest_runs_rounds_in_study_order(self) -> None:
        s = scheduler("fastest:2")
        s.add_study("a", {"m0": 3.0, "m1": 1.0, "m2": 2.0})
        s.add_study("b", {"m0": 1.0, "m1": 1.0, "m2": 1.0})  # ties go to the lowest model
        s.add_study("c", {"m2": 5.0})
        for device in range(7):
            s.add_device(device)
        picks = [next_arm(s, device) for device in range(5)]
        assert picks == [("a", "m1"), ("b", "m0"), ("c", "m2"), ("a", "m2"), ("b", "m1")]
        sixth = s.ask(5)
        assert sixth is not None
        assert sixth.reason is Reason.POLICY

    def test_mean_runs_the_highest_prior_mean(self) -> None:
        s = scheduler("mean")
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_study("b", {"m2": 1.0, "m0": 1.0})
        s.add_device(0)
        s.add_device(1)
        assert [next_arm(s, 0), next_arm(s, 1)] == [("a", "m1"), ("b", "m2")]

    def test_a_study_added_later_starts_with_its_fastest_model(self) -> None:
        s = scheduler("fastest:2")
        s.add_study("a", {"m0": 1.0, "m1": 2.0, "m2": 3.0})
        for device in range(4):
            s.add_device(device)
        assert next_arm(s, 0) == ("a", "m0")
        s.add_study("late", {"m0": 9.0, "m1": 8.0, "m2": 7.0})
        assert [next_arm(s, d) for d in (1, 2, 3)] == [("late", "m2"), ("a", "m1"), ("late", "m1")]

    def test_an_arm_that_another_study_ran_is_not_run_again(self) -> None:
        s = scheduler("fastest:1")
        s.add_study("a", {"m0": 1.0, "m1": 2.0}, dataset="d")
        s.add_study("b", {"m0": 1.0, "m1": 2.0}, dataset="d")
        s.add_device(0)
        s.add_device(1)
        first, second = s.ask(0), s.ask(1)
        assert first is not None
        assert second is not None
        assert (first.model, first.reason) == ("m0", Reason.WARM_START)
        assert (second.model, second.reason) == ("m1", Reason.POLICY)

    def test_a_lost_warm_start_is_retried_before_the_policy_decides(self) -> None:
        s = scheduler("fastest:1")
        s.add_study("a", {"m0": 1.0, "m1": 1.0})
        s.add_study("b", {"m0": 1.0, "m1": 1.0})
        s.add_device(0)
        assert next_arm(s, 0) == ("a", "m0")
        s.lose(0)
        assert next_arm(s, 0) == ("a", "m0")
        s.tell(1, 0.5)
        assert next_arm(s, 0) == ("b", "m0")

    def test_the_plan_of_a_removed_study_is_dropped(self) -> None:
        s = scheduler("fastest:1")
        s.add_study("a", {"m0": 1.0}, dataset="d")
        s.add_study("b", {"m0": 1.0, "m1": 0.5}, dataset="d")
        s.remove_study("a")
        s.add_device(0)
        assert next_arm(s, 0) == ("b", "m1")

    def test_decide_does_not_change_the_plan(self) -> None:
        def begin(query: bool) -> tuple[str, str, Reason]:
            s = scheduler("fastest:1")
            for device in range(3):
                s.add_device(device)
            s.add_study("a", {"m0": 1.0, "m1": 2.0}, dataset="d")
            s.ask(0)
            s.ask(1)
            s.add_study("b", {"m1": 2.0}, dataset="d")  # its planned model is already running for a
            if query:
                assert s.decide(2) is None
            s.lose(1)
            decision = s.ask(1)
            assert decision is not None
            return decision.study, decision.model, decision.reason

        assert begin(query=True) == begin(query=False) == ("b", "m1", Reason.WARM_START)

    @pytest.mark.parametrize(
        "text",
        [
            "fast",
            "fastest",
            "fastest:0",
            "fastest:-1",
            "mean:2",
            "",
            "fastest:٣",
            "fastest:" + "9" * 5000,
        ],
    )
    def test_invalid_warm_starts(self, text: str) -> None:
        with pytest.raises(InvalidInput, match="unknown warm start"):
            scheduler(text)
