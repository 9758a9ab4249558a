"""Ties go to the lowest study, then the lowest model, however many there are."""

import numpy as np
import pytest
from support.problems import flat_prior

from bentham.core import POLICIES, JointPrior, Scheduler, SharedPrior


def test_ties_go_to_the_lowest_study_then_the_lowest_model() -> None:
    scheduler = Scheduler(flat_prior(3), warm_start="none")
    for name in ("z", "a"):  # the order of addition, not alphabetical
        scheduler.add_study(name, {"m2": 1.0, "m1": 1.0})
    for device in range(4):
        scheduler.add_device(device)
    picks = [scheduler.ask(device) for device in range(4)]
    assert [(p.study, p.model) for p in picks if p] == [
        ("z", "m1"), ("z", "m2"), ("a", "m1"), ("a", "m2"),
    ]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_many_ties_are_broken_by_the_order_of_models(policy: str) -> None:
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


def out_of_order(mean_of_first: float, mean_of_second: float) -> JointPrior:
    """Return a prior in which dataset d lists the second model before the first."""
    arms = [("other", "first"), ("other", "second"), ("d", "second"), ("d", "first")]
    return JointPrior(arms, [0.0, 0.0, mean_of_second, mean_of_first], np.eye(4))


@pytest.mark.parametrize("policy", POLICIES)
def test_arms_in_another_order_than_models(policy: str) -> None:
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
def test_many_ties_among_arms_in_reverse_order(studies: int) -> None:
    # More ties than a decision ranks: the lowest must be found before the others are discarded.
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


def test_an_arm_is_run_for_its_lowest_remaining_study() -> None:
    scheduler = Scheduler(flat_prior(1), warm_start="none")
    for name in "abc":
        scheduler.add_study(name, {"m0": 1.0}, dataset="d")
    scheduler.remove_study("a")
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert decision.study == "b"


def test_a_joint_prior_is_split_into_independent_blocks() -> None:
    prior = out_of_order(0.0, 0.0)
    assert prior.block_key("other") != prior.block_key("d")
    assert prior.block(prior.block_key("d")).size == 2
