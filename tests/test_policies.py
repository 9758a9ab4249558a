"""One contract for every policy, and for each what makes it the policy it is."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import Problem, random_problem

from bentham.core import POLICIES, Arm, Decision, Event, JointPrior, Scheduler, SharedPrior
from bentham.core.decision import RUNNERS_UP, Reason
from bentham.core.replay import recover, verify
from bentham.errors import InvalidInput
from bentham.sim import POLICY_NAMES, Oracle

LAYOUTS = ("shared", "product", "joint")


def scheduler_for(problem: Problem, policy: str, **options: Any) -> Scheduler:
    chosen = Oracle.knowing(problem.truth) if policy == "oracle" else policy
    return Scheduler(problem.prior, chosen, **options)


def add_all(scheduler: Scheduler, problem: Problem, devices: int = 2) -> None:
    for study in problem.studies:
        scheduler.add_study(
            study.name, study.costs, dataset=study.dataset, weight=study.weight, floor=study.floor
        )
    for device in range(devices):
        scheduler.add_device(device)


def drain(scheduler: Scheduler, problem: Problem, devices: int = 2) -> list[Decision]:
    """Run everything, each device's trial ending before the next is asked for."""
    decisions, running = [], {device: scheduler.ask(device) for device in range(devices)}
    while any(running.values()):
        for device, decision in running.items():
            if decision is not None:
                decisions.append(decision)
                score = problem.truth[Arm(decision.dataset, decision.model)]
                scheduler.tell(decision.trial, score)
                running[device] = scheduler.ask(device)
    return decisions


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
            listing = [
                s for s in problem.studies if s.dataset == arm.dataset and arm.model in s.costs
            ]
            assert decision.cost == listing[0].costs[arm.model]
            assert decision.study in {study.name for study in listing}
            assert [gain.study for gain in decision.gains] == [study.name for study in listing]
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
        asked, undisturbed = (
            scheduler_for(problem, policy, warm_start=warm_start) for _ in range(2)
        )
        for scheduler in (asked, undisturbed):
            add_all(scheduler, problem)
        while True:
            first = asked.decide(0)
            assert asked.decide(0) == first
            assert asked.decide(1) is not None or first is None
            assert undisturbed.ask(0) == first == asked.ask(0)
            if first is None:
                break
            for scheduler in (asked, undisturbed):
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
        recover(recovered, events)  # applies decisions and makes none
        assert recovered.decide(0) == original.decide(0)
        assert verify(scheduler_for(problem, policy, warm_start=warm_start), events) == []


def flat_prior(models: int) -> SharedPrior:
    return SharedPrior([f"m{i}" for i in range(models)], np.zeros(models), np.eye(models))


def test_ties_go_to_the_lowest_study_then_the_lowest_model() -> None:
    scheduler = Scheduler(flat_prior(3), warm_start="none")
    for name in ("z", "a"):  # the order of adding, not of the alphabet
        scheduler.add_study(name, {"m2": 1.0, "m1": 1.0})
    for device in range(4):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(4)]
    assert [(p.study, p.model) for p in picks if p] == [
        ("z", "m1"), ("z", "m2"), ("a", "m1"), ("a", "m2"),
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["mdmt", "round-robin", "random", "gp-ucb"])
def test_many_ties_go_by_the_order_of_models(policy: str) -> None:
    models = [f"m{i}" for i in range(100)]  # enough for an unstable sort to show
    prior = SharedPrior(models, [0.1 * (place % 3) for place in range(100)], np.eye(100))
    scheduler = Scheduler(prior, policy, warm_start="none")
    scheduler.add_study("a", dict.fromkeys(reversed(models), 1.0))
    for device in range(100):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(100)]
    assert [decision.model for decision in picks if decision] == [
        *models[2::3], *models[1::3], *models[0::3],
    ]  # fmt: skip


def test_ties_within_a_dataset_go_to_the_lowest_study_before_the_lowest_model() -> None:
    scheduler = Scheduler(flat_prior(2), warm_start="none")
    scheduler.add_study("a", {"m1": 1.0}, dataset="d")
    scheduler.add_study("b", {"m0": 1.0}, dataset="d")
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert (decision.study, decision.model) == ("a", "m1")


def test_a_shared_arm_counts_for_every_study_that_lists_it() -> None:
    scheduler = Scheduler(flat_prior(2), warm_start="none")
    scheduler.add_study("one", {"m0": 1.0}, dataset="d")
    scheduler.add_study("two", {"m0": 1.0}, dataset="d", weight=3.0)
    scheduler.add_study("alone", {"m1": 1.0}, weight=3.9)
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert decision.study == "one"
    assert [gain.study for gain in decision.gains] == ["one", "two"]
    assert decision.gains[1].expected_improvement == 3 * decision.gains[0].expected_improvement
    scheduler.tell(decision.trial, 1.5)
    assert scheduler.incumbent("one") == scheduler.incumbent("two") == ("m0", 1.5)
    assert scheduler.incumbent("alone") is None


def out_of_order(mean_of_first: float, mean_of_second: float) -> JointPrior:
    """On dataset d the second model's arm comes before the first's."""
    arms = [("other", "first"), ("other", "second"), ("d", "second"), ("d", "first")]
    return JointPrior(arms, [0.0, 0.0, mean_of_second, mean_of_first], np.eye(4))


@pytest.mark.parametrize("policy", ["mdmt", "round-robin", "random", "gp-ucb"])
def test_arms_given_in_another_order_than_models(policy: str) -> None:
    for means, expected in (((0.0, 0.0), "first"), ((0.0, 0.5), "second"), ((0.5, 0.0), "first")):
        scheduler = Scheduler(out_of_order(*means), policy, warm_start="none")
        scheduler.add_study("a", {"second": 1.0, "first": 1.0}, dataset="d")
        scheduler.add_device(0)
        decision = scheduler.ask(0)
        assert decision is not None
        assert decision.model == expected
        # Two studies on the dataset: the same.
        scheduler.lose(0)
        scheduler.add_study("b", {"second": 1.0, "first": 1.0}, dataset="d")
        decision = scheduler.ask(0)
        assert decision is not None
        assert decision.model == expected
        beliefs = scheduler.beliefs("a")
        assert (beliefs["first"].mean, beliefs["second"].mean) == means
        order = sorted(beliefs, key=lambda model: -beliefs[model].expected_improvement)
        assert order[0] == expected


@pytest.mark.parametrize("studies", [1, 2])
def test_many_ties_among_arms_given_backwards(studies: int) -> None:
    # More ties than a decision ranks: the lowest must be found before the others are dropped.
    models = [f"m{i}" for i in range(10)]
    arms = [("other", m) for m in models] + [("d", m) for m in reversed(models)]
    scheduler = Scheduler(JointPrior(arms, np.zeros(20), np.eye(20)), warm_start="none")
    for number in range(studies):
        scheduler.add_study(f"s{number}", dict.fromkeys(models, 1.0), dataset="d")
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert decision.model == "m0"
    assert [other.model for other in decision.runners_up] == ["m1", "m2", "m3"]


def test_many_ties_among_studies_of_one_dataset() -> None:
    scheduler = Scheduler(flat_prior(10), warm_start="none")
    scheduler.add_study("a", {"m9": 1.0}, dataset="d")
    scheduler.add_study("b", {f"m{i}": 1.0 for i in range(9)}, dataset="d")
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert (decision.study, decision.model) == ("a", "m9")


def test_the_lowest_study_that_is_left_stands_for_an_arm() -> None:
    scheduler = Scheduler(flat_prior(1), warm_start="none")
    for name in "abc":
        scheduler.add_study(name, {"m0": 1.0}, dataset="d")
    scheduler.remove_study("a")
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert decision.study == "b"


def test_a_joint_prior_is_split_where_nothing_is_linked() -> None:
    prior = out_of_order(0.0, 0.0)
    assert prior.block_key("other") != prior.block_key("d")
    assert prior.block(prior.block_key("d")).size == 2


def test_round_robin_takes_turns_and_picks_by_ei_not_by_rate() -> None:
    prior = SharedPrior(["dear", "cheap"], [1.0, 0.9], np.eye(2))
    scheduler = Scheduler(prior, "round-robin", warm_start="none")
    for name in "abc":
        scheduler.add_study(name, {"dear": 100.0, "cheap": 1.0})
    for device in range(7):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(7)]
    assert [(p.study, p.model) for p in picks if p] == [
        ("a", "dear"), ("b", "dear"), ("c", "dear"),
        ("a", "cheap"), ("b", "cheap"), ("c", "cheap"),
    ]  # fmt: skip
    assert picks[6] is None


def test_round_robin_goes_on_after_the_study_it_served_when_others_leave() -> None:
    scheduler = Scheduler(flat_prior(3), "round-robin", warm_start="none")
    for name in "abcd":
        scheduler.add_study(name, {"m0": 1.0, "m1": 1.0, "m2": 1.0})
    for device in range(3):
        scheduler.add_device(device)
    served = [scheduler.ask(0), scheduler.ask(1)]
    assert [d.study for d in served if d] == ["a", "b"]
    scheduler.remove_study("b")
    scheduler.remove_study("c")
    third = scheduler.ask(2)
    assert third is not None
    assert third.study == "d"


def test_random_draws_uniformly_and_by_its_seed_alone() -> None:
    counts: dict[str, int] = {}
    sequences = []
    for seed in range(300):
        scheduler = Scheduler(flat_prior(2), "random", warm_start="none", seed=seed)
        for name in "abc":
            scheduler.add_study(name, {"m0": 1.0, "m1": 1.0})
        for device in range(6):
            scheduler.add_device(device)
        studies = [d.study for d in map(scheduler.ask, range(6)) if d]
        sequences.append(tuple(studies))
        counts[studies[0]] = counts.get(studies[0], 0) + 1
    assert all(70 <= count <= 130 for count in counts.values())  # 100 each, sigma 8
    assert len(set(sequences)) > 50
    # Raw bits of a fixed stream: these hold with every version of numpy, on every machine.
    assert ["".join(sequence) for sequence in sequences[:3]] == ["cbacba", "bcaabc", "ccabba"]


def test_gp_ucb_serves_the_largest_potential_with_the_widest_bound_for_its_cost() -> None:
    prior = SharedPrior(["m0", "m1"], [0.5, 0.5], np.diag([1.0, 1.0]))
    scheduler = Scheduler(prior, "gp-ucb", warm_start="none")
    scheduler.add_study("content", {"m0": 1.0, "m1": 1.0}, floor=0.4)
    scheduler.add_study("hopeful", {"m0": 4.0, "m1": 1.0}, floor=0.0)
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert (decision.study, decision.model) == ("hopeful", "m1")
    # mu + sqrt(beta c* / c) sigma, beta = 2 log(pi^2 N L t^2 / (6 delta))
    beta = 2 * math.log(math.pi**2 * 2 * 2 / (6 * 0.1))
    assert decision.value == pytest.approx(0.5 + math.sqrt(beta * 4.0 / 1.0))


def test_gp_ucb_minds_weights_and_how_many_studies_there_are() -> None:
    prior = SharedPrior(["sure", "vague"], [1.0, 0.0], np.diag([0.01, 1.0]))
    scheduler = Scheduler(prior, "gp-ucb", warm_start="none")
    scheduler.add_study("steady", {"sure": 1.0}, floor=-2.1)  # 3.1 + 0.1 sqrt(beta)
    scheduler.add_study("bold", {"vague": 1.0}, floor=0.0)  # sqrt(beta), which grows with N
    scheduler.add_device(0)
    decision = scheduler.decide(0)
    assert decision is not None
    assert decision.study == "steady"
    for number in range(60):
        scheduler.add_study(f"content {number}", {"sure": 1.0}, floor=100.0)
    decision = scheduler.decide(0)
    assert decision is not None
    assert decision.study == "bold"
    scheduler.add_study("heavy", {"sure": 1.0}, floor=-2.1, weight=10.0)
    decision = scheduler.decide(0)
    assert decision is not None
    assert decision.study == "heavy"


def test_the_oracle_minds_weights() -> None:
    truth = {Arm("a", "m0"): 0.9, Arm("b", "m0"): 0.5}
    scheduler = Scheduler(flat_prior(1), Oracle.knowing(truth), warm_start="none")
    scheduler.add_study("a", {"m0": 1.0})
    scheduler.add_study("b", {"m0": 1.0}, weight=2.0)
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert (decision.study, decision.value) == ("b", 1.0)


def test_the_oracle_must_know_every_score() -> None:
    scheduler = Scheduler(flat_prior(1), Oracle.knowing({}), warm_start="none")
    scheduler.add_study("a", {"m0": 1.0})
    scheduler.add_device(0)
    with pytest.raises(InvalidInput, match="the oracle lacks the score of"):
        scheduler.ask(0)


def test_every_scheduler_has_a_policy_of_its_own() -> None:
    problems = [random_problem(seed, studies=3 + 6 * seed) for seed in (1, 0)]
    maker = POLICIES["mdmt"]
    for problem in problems:
        scheduler = Scheduler(problem.prior, maker, warm_start="none")
        add_all(scheduler, problem)
        assert drain(scheduler, problem)


def test_the_oracle_takes_the_highest_true_gain_per_cost_and_lets_the_served_wait() -> None:
    truth = {
        Arm("a", "m0"): 0.9, Arm("a", "m1"): 0.8, Arm("b", "m0"): 0.3, Arm("b", "m1"): 0.5,
    }  # fmt: skip
    scheduler = Scheduler(flat_prior(2), Oracle.knowing(truth), warm_start="none")
    scheduler.add_study("a", {"m0": 1.0, "m1": 1.0})
    scheduler.add_study("b", {"m0": 1.0, "m1": 2.0})
    for device in range(3):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(3)]
    # a/m0 gains 0.9; while it runs, a waits; b/m0 gains 0.3 a unit, b/m1 only 0.25; b goes on
    # gaining by m1 since its best is not running yet.
    assert [(p.study, p.model) for p in picks if p] == [("a", "m0"), ("b", "m0"), ("b", "m1")]


def test_the_oracle_does_not_wait_for_an_arm_that_failed() -> None:
    truth = {
        Arm("a", "m0"): 0.9, Arm("a", "m1"): 0.8, Arm("a", "m2"): 0.7, Arm("b", "m0"): 0.1,
    }  # fmt: skip
    scheduler = Scheduler(flat_prior(3), Oracle.knowing(truth), warm_start="none")
    scheduler.add_study("a", {"m0": 1.0, "m1": 1.0, "m2": 1.0})
    scheduler.add_study("b", {"m0": 1.0})
    for device in range(3):
        scheduler.add_device(device)
    scheduler.ask(0)
    scheduler.fail(0)
    picks = [scheduler.ask(device) for device in range(2)]
    # With m0 gone m1 is the best of a; while it runs, a waits.
    assert [(p.study, p.model) for p in picks if p] == [("a", "m1"), ("b", "m0")]


@given(seed=st.integers(0, 10_000), policy=st.sampled_from(POLICY_NAMES))
@settings(max_examples=40)
def test_no_policy_depends_on_the_scale_of_cost(seed: int, policy: str) -> None:
    problem = random_problem(seed)
    runs = []
    for factor in (1.0, 1024.0):  # a power of two, so that nothing is rounded
        scheduler = scheduler_for(problem, policy, warm_start="fastest:1")
        for study in problem.studies:
            costs = {model: factor * cost for model, cost in study.costs.items()}
            scheduler.add_study(
                study.name, costs, dataset=study.dataset, weight=study.weight, floor=study.floor
            )
        scheduler.add_device(0)
        scheduler.add_device(1)
        runs.append([(d.study, d.model) for d in drain(scheduler, problem)])
    assert runs[0] == runs[1]
