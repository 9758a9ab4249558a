"""A study gets no more trials once what is left is negligible against what it has gained."""

from statistics import NormalDist

import numpy as np
import pytest
from support.problems import Problem, drain, flat_prior, random_problem, scheduler_for

from bentham.core import POLICIES, Arm, Decision, Event, Scheduler, SharedPrior
from bentham.core.problem.events import StudyAdded, event_from_dict, event_to_dict
from bentham.core.scheduler.replay import recover, verify
from bentham.errors import InvalidInput

SHARE = 0.2
LAYOUTS = ("shared", "product", "joint")


def add_all(scheduler: Scheduler, problem: Problem, share: float) -> None:
    for study in problem.studies:
        scheduler.add_study(
            study.name, study.costs, dataset=study.dataset, weight=study.weight,
            floor=study.floor, gain_share=share,
        )  # fmt: skip
    for device in range(2):
        scheduler.add_device(device)


def improvement(mean: float, sigma: float, incumbent: float) -> float:
    if sigma == 0.0:
        return max(0.0, mean - incumbent)
    normal, u = NormalDist(), (mean - incumbent) / sigma
    return sigma * (normal.pdf(u) + u * normal.cdf(u))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_prospect_agrees_with_its_definition(layout: str) -> None:
    problem = random_problem(3, layout)
    scheduler = scheduler_for(problem, "mdmt", warm_start="none")
    add_all(scheduler, problem, SHARE)
    while (decision := scheduler.ask(0)) is not None:
        scheduler.tell(decision.trial, problem.truth[Arm(decision.dataset, decision.model)])
        for study in problem.studies:
            best = scheduler.incumbent(study.name)
            incumbent = study.floor if best is None else best[1]
            gains = [
                improvement(belief.mean, belief.sigma, incumbent)
                for belief in scheduler.beliefs(study.name).values()
                if belief.sigma > 0.0
            ]
            found = scheduler.prospect(study.name)
            assert found.together == pytest.approx(sum(gains), abs=1e-12)
            assert found.largest == pytest.approx(max(gains, default=0.0), abs=1e-12)
            assert found.gained == incumbent - study.floor
            left = found.gained > 0.0 and bool(gains)
            negligible = left and found.together < SHARE * found.gained
            assert scheduler.satisfied(study.name) == negligible


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("patience", [None, 3])
def test_no_trial_is_for_satisfied_studies_alone(
    policy: str, layout: str, patience: int | None
) -> None:
    stopped = 0
    for seed in range(6):
        problem = random_problem(seed, layout)
        events: list[Event] = []
        scheduler = scheduler_for(
            problem, policy, warm_start="none", patience=patience, record=events.append
        )
        add_all(scheduler, problem, SHARE)
        running: dict[int, Decision] = {}
        tried = 0
        while True:
            for device in {0, 1} - set(running):
                satisfied = {s.name: scheduler.satisfied(s.name) for s in problem.studies}
                decision = scheduler.ask(device)
                if decision is not None:
                    tried += 1
                    running[device] = decision
                    assert not all(satisfied[gain.study] for gain in decision.gains)
            if not running:
                break
            decision = running.pop(min(running, key=lambda device: running[device].trial))
            scheduler.tell(decision.trial, problem.truth[Arm(decision.dataset, decision.model)])
        assert scheduler.finished
        listed = {Arm(s.dataset, model) for s in problem.studies for model in s.costs}
        stopped += tried < len(listed)
        again, recovered = (
            scheduler_for(problem, policy, warm_start="none", patience=patience) for _ in range(2)
        )
        assert verify(again, events) == []
        recover(recovered, events)
        assert recovered.finished
    assert stopped > 0


def test_running_trials_are_enough_to_stop_for_now() -> None:
    """Several devices do not keep a study alive by starting trials in turn."""
    prior = SharedPrior(["good", "poor", "worse"], [1.0, -9.0, -9.0], 0.01 * np.eye(3))
    scheduler = Scheduler(prior, warm_start="none")
    scheduler.add_study("s", {"good": 1.0, "poor": 1.0, "worse": 1.0}, gain_share=0.01)
    for device in (0, 1):
        scheduler.add_device(device)
    first, second = scheduler.ask(0), scheduler.ask(1)
    assert first is not None
    assert first.model == "good"
    assert second is not None  # nothing has been gained yet
    scheduler.tell(first.trial, 1.0)
    assert scheduler.ask(0) is None
    assert not scheduler.finished
    scheduler.tell(second.trial, -9.0)
    assert scheduler.finished


def test_an_arm_runs_if_another_study_wants_it() -> None:
    scheduler = Scheduler(flat_prior(3), warm_start="none")
    costs = {"m0": 1.0, "m1": 1.0, "m2": 1.0}
    scheduler.add_study("easy", costs, dataset="d", gain_share=0.9, floor=-50.0)
    scheduler.add_study("hard", costs, dataset="d", floor=-50.0)
    scheduler.add_device(0)
    for _ in range(3):
        decision = scheduler.ask(0)
        assert decision is not None
        scheduler.tell(decision.trial, 2.0)
        assert scheduler.satisfied("easy") == (not scheduler.finished)
        assert not scheduler.satisfied("hard")


def test_before_a_gain_nothing_is_negligible() -> None:
    scheduler = Scheduler(flat_prior(2), warm_start="none")
    scheduler.add_study("s", {"m0": 1.0, "m1": 1.0}, floor=9.0, gain_share=0.5)
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    scheduler.tell(decision.trial, 0.0)  # below the floor
    assert not scheduler.satisfied("s")
    assert scheduler.ask(0) is not None


def test_the_guard_passes_over_satisfied_studies() -> None:
    scheduler = Scheduler(flat_prior(20), warm_start="none", patience=4)
    costs = {f"m{n}": 1.0 for n in range(20)}
    scheduler.add_study("done", {"m0": 1.0, "m1": 1.0}, dataset="a", floor=-99.0, gain_share=0.5)
    scheduler.add_study("heavy", costs, dataset="b", weight=1e6)
    scheduler.add_study("waits", costs, dataset="c")
    scheduler.add_device(0)
    served = []
    while (decision := scheduler.ask(0)) is not None:
        served.append(decision.study)
        scheduler.tell(decision.trial, 1.0)
    assert served.count("done") == 1
    assert "waits" in served[:5]


def test_a_snapshot_of_the_state_keeps_it() -> None:
    problem = random_problem(0)
    scheduler = scheduler_for(problem, "joint", warm_start="none")
    add_all(scheduler, problem, SHARE)
    drain(scheduler, problem)
    copy = scheduler.frozen()
    for study in problem.studies:
        assert copy.satisfied(study.name) == scheduler.satisfied(study.name)
        assert copy.prospect(study.name) == scheduler.prospect(study.name)


def test_recordings() -> None:
    """An event without a share is written as before shares existed."""
    events: list[Event] = []
    scheduler = Scheduler(flat_prior(1), warm_start="none", record=events.append)
    scheduler.add_study("without", {"m0": 1.0})
    scheduler.add_study("with", {"m0": 1.0}, gain_share=0.25)
    added = [event_to_dict(event) for event in events if isinstance(event, StudyAdded)]
    assert "gain_share" not in added[0]["study"]
    assert added[1]["study"]["gain_share"] == 0.25
    assert [event_from_dict(each) for each in added] == events


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan"), "much", None])
def test_other_shares_are_refused(share: object) -> None:
    scheduler = Scheduler(flat_prior(1))
    with pytest.raises(InvalidInput, match="gain_share"):
        scheduler.add_study("s", {"m0": 1.0}, gain_share=share)  # type: ignore[arg-type]
