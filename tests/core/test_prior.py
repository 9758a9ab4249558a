"""Invalid priors are refused with a message that names the wrong entry and the remedy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import random_covariance, random_problem

from bentham.core import JointPrior, ProductPrior, Scheduler, SharedPrior, prior_from
from bentham.errors import InvalidInput, InvalidPrior

TWO = ["a", "b"]


@pytest.mark.parametrize(
    ("mean", "covariance", "words"),
    [
        ([0, 0], [[1, 0.5], [0.4, 1]], r"not symmetric: \[0, 1\] is 0.5 but \[1, 0\] is 0.4 \('a'"),
        ([0, 0], [[1, 2], [2, 1]], r"covariance\[0, 1\] is 2 .*correlation above 1"),
        ([0, 0], [[1, 0], [0, -1]], r"covariance\[1, 1\] is -1 \('b'\); a variance cannot be"),
        ([0, 0, 0], np.eye(2), r"mean has shape \(3,\); expected \(2,\)"),
        ([0, 0], np.eye(3), r"covariance has shape \(3, 3\); expected \(2, 2\)"),
        ([0, 0], [1, 1], r"covariance has shape \(2,\)"),
        ([0, np.nan], np.eye(2), r"mean\[1\] is nan; every entry must be a number from"),
        ([0, 0], [[1, 0], [0, np.inf]], r"covariance\[1, 1\] is inf"),
        (["x", 0], np.eye(2), "not a number"),
    ],
)
def test_refused(mean: Any, covariance: Any, words: str) -> None:
    with pytest.raises(InvalidPrior, match=words):
        SharedPrior(TWO, mean, covariance)


def test_not_psd_although_every_pair_is_valid() -> None:
    covariance = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(
        InvalidPrior, match=r"smallest eigenvalue is -0\.8.*add at least 0\.8 to its diagonal"
    ):
        SharedPrior(["a", "b", "c"], np.zeros(3), covariance)


def test_names_and_jitter() -> None:
    with pytest.raises(InvalidPrior, match="duplicate model 'a'"):
        SharedPrior(["a", "a"], [0, 0], np.eye(2))
    with pytest.raises(InvalidPrior, match="no models"):
        SharedPrior([], [], np.zeros((0, 0)))
    for jitter in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidPrior, match="jitter"):
            SharedPrior(TWO, [0, 0], np.eye(2), jitter)


def test_the_other_layouts_refuse_too() -> None:
    with pytest.raises(InvalidPrior, match=r"similarity is not symmetric.*\('x', 'y'\)"):
        ProductPrior(["x", "y"], [[1.0, 0.5], [0.0, 1.0]], ["m"], [0], [[1]])
    with pytest.raises(InvalidPrior, match="duplicate dataset 'x'"):
        ProductPrior(["x", "x"], np.eye(2), ["m"], [0], [[1]])
    with pytest.raises(InvalidPrior, match="mean is ragged"):
        ProductPrior(["x", "y"], np.eye(2), TWO, [[0.0], [0.0, 1.0]], np.eye(2))
    with pytest.raises(InvalidPrior, match="arm Arm"):
        JointPrior([("d", "m"), ("d", "m")], [0, 0], np.eye(2))
    with pytest.raises(InvalidPrior, match=r"mean has shape"):
        ProductPrior(["x", "y"], np.eye(2), TWO, [0, 0, 0], np.eye(2))
    with pytest.raises(InvalidPrior, match=r"covariance\[1, 0\] is nan"):
        JointPrior([("d", "m"), ("d", "n")], [0, 0], [[1.0, 0.0], [np.nan, 1.0]])


def test_unknown_models_and_datasets_are_refused() -> None:
    scheduler = Scheduler(SharedPrior(TWO, [0, 0], np.eye(2)))
    with pytest.raises(InvalidInput, match="lists model 'c', which the prior does not cover"):
        scheduler.add_study("s", {"a": 1.0, "c": 1.0})
    assert scheduler.studies == ()
    scheduler = Scheduler(ProductPrior(["x"], [[1]], ["a"], [0], [[1]]))
    with pytest.raises(InvalidInput, match="prior does not cover dataset 'z'"):
        scheduler.add_study("s", {"a": 1.0}, dataset="z")


@given(seed=st.integers(0, 1000), rank=st.integers(1, 6))
def test_covariances_of_any_rank_are_accepted(seed: int, rank: int) -> None:
    covariance = random_covariance(np.random.default_rng(seed), 6, rank)
    SharedPrior(list("abcdef"), np.zeros(6), covariance)
    SharedPrior(list("abcdef"), np.zeros(6), 1e-9 * covariance)
    SharedPrior(list("abcdef"), np.zeros(6), 0.0 * covariance)


@pytest.mark.parametrize("layout", ["shared", "product", "joint"])
def test_a_prior_survives_serialization(layout: str) -> None:
    prior = random_problem(3, layout).prior
    restored = prior_from(prior.describe())
    assert restored.describe() == prior.describe()
    assert type(restored) is type(prior)


@pytest.mark.parametrize("description", [{}, {"layout": "cubic"}, {"layout": "shared", "x": 1}])
def test_invalid_descriptions_are_refused(description: dict[str, Any]) -> None:
    with pytest.raises(InvalidPrior):
        prior_from(description)
