"""The characteristic decisions of each policy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import add_all, drain, flat_prior, random_problem, scheduler_for

from bentham.core import POLICIES, Arm, Scheduler, SharedPrior
from bentham.errors import InvalidInput
from bentham.sim import POLICY_NAMES, Oracle


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


def test_round_robin_takes_turns_and_picks_by_ei() -> None:
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


def test_round_robin_keeps_its_position_when_studies_are_removed() -> None:
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


def test_random_is_uniform_and_depends_only_on_its_seed() -> None:
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
    # Raw bits of a fixed stream: the same with every version of numpy and on every machine.
    assert ["".join(sequence) for sequence in sequences[:3]] == ["cbacba", "bcaabc", "ccabba"]


def test_gp_ucb_decision() -> None:
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


def test_gp_ucb_uses_weights_and_the_number_of_studies() -> None:
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


def test_the_oracle_uses_weights() -> None:
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


def test_every_scheduler_has_its_own_policy_object() -> None:
    problems = [random_problem(seed, studies=3 + 6 * seed) for seed in (1, 0)]
    maker = POLICIES["mdmt"]
    for problem in problems:
        scheduler = Scheduler(problem.prior, maker, warm_start="none")
        add_all(scheduler, problem)
        assert drain(scheduler, problem)


def test_the_oracle_takes_the_highest_true_gain_per_cost() -> None:
    truth = {
        Arm("a", "m0"): 0.9, Arm("a", "m1"): 0.8, Arm("b", "m0"): 0.3, Arm("b", "m1"): 0.5,
    }  # fmt: skip
    scheduler = Scheduler(flat_prior(2), Oracle.knowing(truth), warm_start="none")
    scheduler.add_study("a", {"m0": 1.0, "m1": 1.0})
    scheduler.add_study("b", {"m0": 1.0, "m1": 2.0})
    for device in range(3):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(3)]
    # a/m0 gains 0.9, and a waits while it runs. b/m0 gains 0.3 per unit of cost, b/m1 only 0.25.
    # b does not wait, because its best model m1 is not running yet.
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
    # m0 has failed, so m1 is the best of a; while it runs, a waits.
    assert [(p.study, p.model) for p in picks if p] == [("a", "m1"), ("b", "m0")]


@given(seed=st.integers(0, 10_000), policy=st.sampled_from(POLICY_NAMES))
@settings(max_examples=40)
def test_no_policy_depends_on_the_scale_of_cost(seed: int, policy: str) -> None:
    problem = random_problem(seed)
    runs = []
    for factor in (1.0, 1024.0):  # a power of two, so that nothing is rounded
        scheduler = scheduler_for(problem, policy, warm_start="fastest:1")
        for study in problem.studies:
            costs = {model: factor * study.cost(model) for model in study.costs}
            scheduler.add_study(
                study.name, costs, dataset=study.dataset, weight=study.weight, floor=study.floor
            )
        scheduler.add_device(0)
        scheduler.add_device(1)
        runs.append([(d.study, d.model) for d in drain(scheduler, problem)])
    assert runs[0] == runs[1]
