"""One contract for every policy, over every layout and warm start."""

import pytest
from support.problems import add_all, drain, random_problem, scheduler_for

from bentham.core import Arm, Event
from bentham.core.problem.decision import RUNNERS_UP, Reason
from bentham.core.scheduler.replay import recover, verify
from bentham.sim import POLICY_NAMES

LAYOUTS = ("shared", "product", "joint")


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("warm_start", ["none", "mean", "fastest:2"])
class TestContract:
    def test_every_listed_arm_is_run_exactly_once(
        self, policy: str, layout: str, warm_start: str
    ) -> None:
        for seed in range(5):
            problem = random_problem(seed, layout)
            scheduler = scheduler_for(problem, policy, warm_start=warm_start)
            add_all(scheduler, problem)
            run = [Arm(d.dataset, d.model) for d in drain(scheduler, problem)]
            listed = {Arm(s.dataset, model) for s in problem.studies for model in s.costs}
            assert len(run) == len(set(run))
            assert set(run) == listed
            for study in problem.studies:
                best = max(problem.truth[Arm(study.dataset, model)] for model in study.costs)
                incumbent = scheduler.incumbent(study.name)
                assert incumbent is not None
                assert incumbent[1] == best

    def test_decisions_are_justified(self, policy: str, layout: str, warm_start: str) -> None:
        problem = random_problem(7, layout)
        scheduler = scheduler_for(problem, policy, warm_start=warm_start)
        add_all(scheduler, problem)
        for decision in drain(scheduler, problem):
            arm = Arm(decision.dataset, decision.model)
            studies = [
                s for s in problem.studies if s.dataset == arm.dataset and arm.model in s.costs
            ]
            assert decision.cost == studies[0].costs[arm.model]
            assert decision.study in {study.name for study in studies}
            assert [gain.study for gain in decision.gains] == [study.name for study in studies]
            total = sum(gain.expected_improvement for gain in decision.gains)
            assert decision.expected_improvement == pytest.approx(total)
            assert decision.rate == decision.expected_improvement / decision.cost
            others = [Arm(r.dataset, r.model) for r in decision.runners_up]
            assert arm not in others
            assert len(others) == len(set(others)) <= RUNNERS_UP
            values = [r.value for r in decision.runners_up]
            assert values == sorted(values, reverse=True)
            if decision.reason is Reason.POLICY:
                assert decision.value is not None
                assert all(value <= decision.value for value in values)
            else:
                assert warm_start != "none"
                assert decision.value is None

    def test_deciding_changes_nothing(self, policy: str, layout: str, warm_start: str) -> None:
        problem = random_problem(11, layout)
        queried, control = (scheduler_for(problem, policy, warm_start=warm_start) for _ in range(2))
        for scheduler in (queried, control):
            add_all(scheduler, problem)
        while True:
            first = queried.decide(0)
            assert queried.decide(0) == first
            assert queried.decide(1) is not None or first is None
            assert control.ask(0) == first == queried.ask(0)
            if first is None:
                break
            for scheduler in (queried, control):
                scheduler.tell(first.trial, problem.truth[Arm(first.dataset, first.model)])

    def test_recovery_and_verification(self, policy: str, layout: str, warm_start: str) -> None:
        problem = random_problem(13, layout)
        events: list[Event] = []
        original = scheduler_for(problem, policy, warm_start=warm_start, record=events.append)
        add_all(original, problem)
        for decision in [original.ask(0), original.ask(1)]:
            assert decision is not None
        original.lose(0)
        original.fail(1, "out of memory")
        for _ in range(3):
            decision = original.ask(1)
            assert decision is not None
            original.tell(decision.trial, problem.truth[Arm(decision.dataset, decision.model)])
        recovered = scheduler_for(problem, policy, warm_start=warm_start)
        recover(recovered, events)  # applies recorded decisions, makes none
        assert recovered.decide(0) == original.decide(0)
        assert verify(scheduler_for(problem, policy, warm_start=warm_start), events) == []
