"""Marginal gains given the running trials, against Monte Carlo, and their effect on decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import numbers_only
from support.problems import random_covariance

from bentham.core import LearnedPrior, Scheduler, SharedPrior
from bentham.core.gaussian import predictive as outlook
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Vector
from bentham.core.gaussian.warp import Warp
from bentham.core.policies import highest_rate, joint
from bentham.core.policies.joint import draws, marginal_gains
from bentham.core.problem.study import StudySpec
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState


def block_of(prior: BlockPrior, incumbent: float, weight: float = 1.0) -> Block:
    block = Block(0, prior)
    spec = StudySpec("s", dict.fromkeys([f"m{i}" for i in range(prior.size)], 1.0), weight=weight)
    study = StudyState(spec, 0, block, np.arange(prior.size), np.ones(prior.size))
    study.incumbent = incumbent
    block.add(study)
    return block


@given(seed=st.integers(0, 10_000), softness=st.sampled_from([np.inf, 0.5]))
@settings(max_examples=15)
def test_marginal_gains_against_monte_carlo(seed: int, softness: float) -> None:
    rng = np.random.default_rng(seed)
    covariance = 0.2 * random_covariance(rng, 5)
    mean = 0.3 * rng.normal(size=5) - 2.5
    warp = Warp() if np.isinf(softness) else Warp(1.0, softness)
    prior = BlockPrior.of(
        mean, np.diag(covariance).copy(), np.arange(5), covariance.__getitem__, warp
    )
    incumbent = float(warp.inverse(np.array([-2.4]))[0])
    block = block_of(prior, incumbent, weight=2.0)
    running = np.array([1, 3])
    warped = rng.multivariate_normal(mean, covariance, size=200_000)
    scores = warp.inverse(warped)
    best = np.maximum(scores[:, running].max(axis=1), incumbent)
    few = marginal_gains(block, running)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint, "DRAWS", 4096)
        many = marginal_gains(block, running)
    for column in (0, 2, 4):
        gains = 2.0 * np.maximum(scores[:, column] - best, 0.0)
        truth = gains.mean()
        assert many[column] == pytest.approx(truth, rel=0.02, abs=0.02)
        # The error of few draws grows with the spread. Over 400 seeds it was at most 0.8 standard
        # errors of plain sampling: the draws are evenly spread, and the arm itself is not sampled.
        error = gains.std() / joint.DRAWS**0.5
        assert few[column] == pytest.approx(truth, abs=0.02 + 2.0 * error)


def test_an_arm_that_is_certainly_worse_than_a_running_one_has_no_gain() -> None:
    covariance = np.diag([1e-6, 1e-6])
    prior = BlockPrior.of(
        np.array([0.9, 0.5]), np.diag(covariance).copy(), np.arange(2), covariance.__getitem__
    )
    block = block_of(prior, incumbent=0.0)
    assert block.gains.totals()[1] == pytest.approx(0.5, abs=1e-3)
    assert marginal_gains(block, np.array([0]))[1] == pytest.approx(0.0, abs=1e-12)


def test_devices_are_spread_over_studies() -> None:
    models = ["m0", "m1"]
    prior = SharedPrior(models, [0.8, 0.7], 0.01 * np.eye(2))
    picked = {}
    for policy in ("mdmt", "joint"):
        scheduler = Scheduler(prior, policy, warm_start="none")
        scheduler.add_study("cheap", dict.fromkeys(models, 1.0))
        scheduler.add_study("dear", dict.fromkeys(models, 3.0))
        for device in range(2):
            scheduler.add_device(device)
        decisions = [scheduler.ask(device) for device in range(2)]
        picked[policy] = [decision.study for decision in decisions if decision is not None]
    assert picked == {"mdmt": ["cheap", "cheap"], "joint": ["cheap", "dear"]}


def test_with_nothing_running_it_is_mdmt() -> None:
    prior = SharedPrior(["m0", "m1"], [0.8, 0.7], [[0.02, 0.01], [0.01, 0.02]])
    runs: dict[str, list[tuple[str, str, float | None]]] = {}
    for policy in ("mdmt", "joint"):
        scheduler = Scheduler(prior, policy, warm_start="none")
        for study in ("a", "b"):
            scheduler.add_study(study, {"m0": 1.0, "m1": 2.0})
        scheduler.add_device(0)
        runs[policy] = []
        for score in (0.6, 0.7, 0.5, 0.9):
            decision = scheduler.ask(0)
            assert decision is not None
            runs[policy].append((decision.study, decision.model, decision.value))
            scheduler.tell(decision.trial, score)
    assert runs["mdmt"] == runs["joint"]


def test_studies_on_one_dataset_share_running_arms() -> None:
    prior = SharedPrior(["m0", "m1", "m2"], [0.8, 0.7, 0.7], 0.01 * np.eye(3))
    scheduler = Scheduler(prior, "joint", warm_start="none")
    scheduler.add_study("a", {"m0": 1.0, "m1": 1.0}, dataset="d")
    scheduler.add_study("b", {"m1": 1.0, "m2": 1.0}, dataset="d")
    for device in range(2):
        scheduler.add_device(device)
    first, second = scheduler.ask(0), scheduler.ask(1)
    assert first is not None
    assert second is not None
    assert (first.model, second.model) == (
        "m1",
        "m0",
    )  # m1 helps both; after it, m0 has the higher mean


def test_draws_are_normal_and_fixed() -> None:
    points = draws(4096, 3)
    assert points.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.01)
    assert points.std(axis=0) == pytest.approx(np.ones(3), abs=0.02)
    correlations = np.asarray(np.corrcoef(points.T))
    assert correlations[0, 1:] == pytest.approx(np.zeros(2), abs=0.05)
    assert draws(4, 2).tolist() == draws(4, 2).tolist()


def test_cost_exponent() -> None:
    prior = SharedPrior(["m0", "m1"], [0.8, 0.5], 0.01 * np.eye(2))
    first = {}
    for exponent in (0.0, 1.0):
        scheduler = Scheduler(prior, "mdmt", warm_start="none", cost_exponent=exponent)
        scheduler.add_study("a", {"m0": 10.0, "m1": 1.0})
        scheduler.add_device(0)
        decision = scheduler.ask(0)
        assert decision is not None
        first[exponent] = decision.model
    assert first == {0.0: "m0", 1.0: "m1"}


def test_the_default_is_a_learned_prior() -> None:
    scheduler = Scheduler()
    scheduler.add_study("a", {"m0": 2.0, "m1": 1.0})
    scheduler.add_device("gpu", kind="fast")
    decision = scheduler.ask("gpu")
    assert decision is not None
    assert decision.model == "m1"  # nothing is known: the cheapest
    assert decision.reason == "policy"
    assert Scheduler(LearnedPrior()).studies == ()


def two_studies(weight: float = 1.0) -> Scheduler:
    scheduler = Scheduler(
        SharedPrior(["x", "y"], [0.5, 0.4], np.eye(2)), "joint", warm_start="none"
    )
    scheduler.add_study("one", {"x": 1.0, "y": 1.0})
    scheduler.add_study("two", {"x": 2.0, "y": 2.0}, weight=weight)
    scheduler.add_device(0)
    return scheduler


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_an_error_leaves_caches_consistent(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler, expected = two_studies(weight), two_studies(weight).decide(0)
    for name in ("gains", "unweighted_gains") if weight != 1.0 else ("gains",):
        with monkeypatch.context() as patch:
            patch.setattr(joint.Joint, name, _raise)
            with pytest.raises(MemoryError):
                scheduler.decide(0)
    assert scheduler.decide(0) == expected is not None


def _raise(*_: object) -> None:
    raise MemoryError


def test_nan_is_recorded_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highest_rate, "_best_few", numbers_only.ranked)
    monkeypatch.setattr(
        outlook, "gaussian_improvement", lambda mean, *_: np.full_like(mean, np.nan)
    )
    scheduler = two_studies()
    decision = scheduler.ask(0)
    assert decision is not None
    figures = (decision.value, decision.expected_improvement, decision.rate, decision.cost)
    assert figures == (0.0, 0.0, 0.0, 1.0)
    assert [gain.expected_improvement for gain in decision.gains] == [0.0]
    scheduler.tell(decision.trial, 0.5)
    assert scheduler.ask(0) is not None


def test_an_arm_with_nan_gain_is_tried_last(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = joint.Joint.gains

    def with_nan(policy: joint.Joint, state: State, block: Block) -> Vector:
        found = gains(policy, state, block)
        return np.where(
            np.arange(2) < block.order, np.nan, found
        )  # the first model of the second study

    monkeypatch.setattr(highest_rate, "_best_few", numbers_only.ranked)
    monkeypatch.setattr(joint.Joint, "gains", with_nan)
    scheduler, tried = two_studies(), []
    while (decision := scheduler.ask(0)) is not None:
        tried.append((decision.study, decision.model))
        scheduler.tell(decision.trial, 0.1)
    assert tried == [("one", "x"), ("one", "y"), ("two", "y"), ("two", "x")]
