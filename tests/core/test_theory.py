"""MIU and the bounds: against the definition, computed by hand, and against runs."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import random_covariance

from bentham.core import SharedPrior, bounds_of_run
from bentham.core.gaussian.kernels import correlation
from bentham.core.problem.study import Arm, StudySpec
from bentham.core.theory import uncertainty as theory
from bentham.core.theory.uncertainty import (
    Bounds,
    miu_scores,
    miu_scores_of_blocks,
    miu_total,
    top_diagonal_bound,
)
from bentham.errors import InvalidInput
from bentham.sim import Disturbances, simulate

Matrix = npt.NDArray[np.float64]


def by_definition(covariance: Matrix, s: int) -> float:
    """Return the maximum over S and S' of the root of the ratio of determinants."""
    best = 0.0
    for chosen in combinations(range(len(covariance)), s):
        for left_out in chosen:
            rest = [arm for arm in chosen if arm != left_out]
            below = float(np.linalg.det(covariance[np.ix_(rest, rest)])) if rest else 1.0
            if below > 1e-9:
                above = float(np.linalg.det(covariance[np.ix_(chosen, chosen)]))
                best = max(best, max(above, 0.0) / below)
    return float(np.sqrt(best))


@given(seed=st.integers(0, 10_000), arms=st.integers(1, 6))
def test_enumeration_agrees_with_the_definition(seed: int, arms: int) -> None:
    covariance = random_covariance(np.random.default_rng(seed), arms)
    scores = miu_scores(covariance)
    assert all(score.exact for score in scores)
    expected = [by_definition(covariance, s) for s in range(1, arms + 1)]
    assert [score.upper for score in scores] == pytest.approx(expected, abs=1e-6)


def test_independent_arms_keep_the_largest_deviation_to_the_end() -> None:
    covariance = np.diag([4.0, 0.01, 0.01])
    assert [score.upper for score in miu_scores(covariance)] == [2.0, 2.0, 2.0]
    # So the paper's bound by the largest diagonal entries is too low here.
    exact = miu_total(miu_scores(covariance), 3).upper
    assert exact == 4.0
    assert top_diagonal_bound(covariance, 3) == pytest.approx(2.2)


def test_equal_independent_arms_satisfy_the_papers_bound() -> None:
    covariance = np.eye(5)
    for tested in range(1, 6):
        exact = miu_total(miu_scores(covariance), tested)
        assert exact.upper == tested - 1 <= top_diagonal_bound(covariance, tested)


def test_beyond_the_rank_there_is_no_uncertainty() -> None:
    root = np.random.default_rng(0).standard_normal((8, 3))
    scores = miu_scores(root @ root.T)
    assert all(score.upper > 0.0 for score in scores[:3])
    assert all(score.upper == 0.0 for score in scores[3:])


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["dense", "matern", "singular"]))
@settings(max_examples=30)
def test_bounds_contain_the_exact_values(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    covariance = {
        "dense": lambda: random_covariance(rng, 9),
        "matern": lambda: correlation("matern52", rng.random((9, 1)), 0.3),
        "singular": lambda: random_covariance(rng, 9, rank=4),
    }[kind]()
    exact = miu_scores(covariance)
    bounds = theory._bounded(covariance)
    for s, (known, bound) in enumerate(zip(exact, bounds, strict=True), start=1):
        assert bound.lower <= known.upper + 1e-7, s
        assert known.upper <= bound.upper + 1e-7, s
    assert bounds[0].exact
    values = [score.upper for score in exact]
    assert values == sorted(values, reverse=True)


def test_large_matrices_get_bounds() -> None:
    covariance = correlation("matern52", np.linspace(0, 1, 40)[:, np.newaxis], 0.2)
    scores = miu_scores(covariance)
    assert len(scores) == 40
    assert not scores[20].exact
    assert 0.0 <= scores[20].lower <= scores[20].upper <= 1.0
    assert miu_total(scores, 40).lower < miu_total(scores, 40).upper


@given(seed=st.integers(0, 10_000), times=st.integers(1, 3), rank=st.integers(1, 3))
@settings(max_examples=30)
def test_combined_blocks_equal_the_block_diagonal_matrix(seed: int, times: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = random_covariance(rng, 3, rank), random_covariance(rng, 2)
    diagonal = np.zeros((3 * times + 2, 3 * times + 2))
    for turn in range(times):
        diagonal[3 * turn : 3 * turn + 3, 3 * turn : 3 * turn + 3] = one
    diagonal[-2:, -2:] = other
    combined = miu_scores_of_blocks(
        [(miu_scores(one), times), (miu_scores(other), 1)], len(diagonal)
    )
    assert [score.upper for score in combined] == pytest.approx(
        [score.upper for score in miu_scores(diagonal)], abs=1e-6
    )


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_regret_of_a_run_is_below_the_bound_of_the_lemma(seed: int, devices: int) -> None:
    rng = np.random.default_rng(seed)
    models = [f"m{i}" for i in range(6)]
    covariance = 0.2 * correlation("matern52", np.linspace(0, 1, 6)[:, np.newaxis], 0.5)
    prior = SharedPrior(models, np.full(6, 0.5), covariance, jitter=1e-6)
    root = np.linalg.cholesky(covariance + 1e-6 * np.eye(6))
    studies: list[StudySpec] = []
    truth: dict[Arm, float] = {}
    for number in range(8):
        costs = dict(zip(models, rng.uniform(1, 3, 6).tolist(), strict=True))
        studies.append(StudySpec(f"s{number}", costs, floor=-2.0))
        scores = 0.5 + root @ rng.standard_normal(6)
        truth |= {Arm(f"s{number}", m): float(z) for m, z in zip(models, scores, strict=True)}
    run = simulate(studies, truth, prior, devices=devices, warm_start="none")
    bounds = bounds_of_run(prior, truth, run.events)
    assert bounds.broken == ()
    assert 0.0 < run.regret.cumulative <= bounds.lemma
    # The proof's second step: the sum of deviations at the start is at most M + MIU(T, K).
    assert bounds.uncertainty <= devices + bounds.miu.upper + 1e-9
    assert bounds.theorem.lower <= bounds.theorem.upper


def test_the_bounds_by_hand() -> None:
    prior = SharedPrior(["m"], [0.5], [[0.25]])
    truth = {Arm("s", "m"): 1.0}
    run = simulate([StudySpec("s", {"m": 2.0})], truth, prior, devices=1, warm_start="none")
    bounds = bounds_of_run(prior, truth, run.events)
    assert run.regret.cumulative == 2.0
    assert bounds.radius == 1.0  # |1 - 0.5| / 0.5
    assert bounds.score_bound == 1.0
    assert bounds.uncertainty == 0.5
    assert bounds.miu == Bounds(0.0, 0.0)
    assert bounds.theorem == Bounds(2.0, 2.0)  # (0 + 1) 1^2 / 1 * 2
    ratio = 1.0833154705876864 / 0.08331547058768624  # tau(1) / tau(-1)
    assert bounds.lemma == pytest.approx((ratio * 2 * 0.5 + 1.0 + ratio) * 2.0)


def test_a_prior_that_excludes_the_truth_gives_no_bound() -> None:
    prior = SharedPrior(
        ["a", "b"], [0.0, 0.0], np.ones((2, 2))
    )  # a and b are equal under this prior
    truth = {Arm("s", "a"): 0.1, Arm("s", "b"): 0.9}
    run = simulate([StudySpec("s", {"a": 1.0, "b": 1.0})], truth, prior, warm_start="none")
    bounds = bounds_of_run(prior, truth, run.events)
    assert bounds.radius == np.inf
    assert bounds.lemma == np.inf
    assert bounds.broken == ("a score was excluded by the prior",)


def test_near_singular_matrices_are_not_called_singular() -> None:
    # Points close together and one far away, which stays uncertain given some nine of the others.
    features = np.append(np.linspace(0, 1, 14), 3.0)[:, np.newaxis]
    covariance = correlation("rbf", features, 1.0)
    scores = miu_scores(covariance)
    assert scores[9].upper >= 0.42
    assert not scores[9].exact
    # Three nearly collinear arms and an independent one, which can be added last.
    d = 0.95e-6
    root = np.array([[1, 0, 0], [1 + 1e-9, d * (1 + 1e-9), 0], [1, 2 * d, 0], [0, 0, 1]])
    assert miu_scores(root @ root.T)[2].upper == pytest.approx(1.0, abs=1e-6)


def test_bounds_of_a_run_use_each_listed_arm_once() -> None:
    prior = SharedPrior(["a", "b", "huge"], np.zeros(3), np.diag([0.01, 0.01, 100.0]))
    studies = [StudySpec(f"s{i}", {"a": 1.0, "b": 2.0}) for i in range(4)]
    truth = {Arm(s.name, m): 0.05 for s in studies for m in s.costs}
    calm = simulate(studies, truth, prior, devices=2, warm_start="none")
    bounds = bounds_of_run(prior, truth, calm.events)
    assert bounds.broken == ()
    assert bounds.miu.upper == pytest.approx(0.1 * 7)
    assert bounds.miu.exact
    lossy = simulate(
        studies, truth, prior, devices=2, warm_start="none", seed=2,
        disturbances=Disturbances(loss=0.3),
    )  # fmt: skip
    assert len(lossy.trials) > 8
    assert bounds_of_run(prior, truth, lossy.events).lemma == pytest.approx(bounds.lemma)


def test_scale_does_not_make_arms_dependent() -> None:
    for variances in ([1.0, 1e-17], [1e4, 1e-12], [1.0, 0.0]):
        scores = miu_scores(np.diag(variances))
        second = np.sqrt(variances[0]) if variances[1] else 0.0
        assert scores[1].upper == scores[1].lower == second


def test_the_bounds_are_informative() -> None:
    # Finite rank: no uncertainty beyond it, also without enumeration.
    root = np.random.default_rng(1).standard_normal((20, 3))
    finite = miu_scores(root @ root.T)
    assert all(score.upper == 0.0 for score in finite[3:])
    assert all(score.upper > 0.0 for score in finite[:3])
    # Points on a line: half of them say nothing about the other end, and the greedy bound shows it.
    line = correlation("matern52", np.linspace(0, 1, 40)[:, np.newaxis], 0.05)
    scores = miu_scores(line)
    lower = [score.lower for score in scores]
    assert lower == sorted(lower, reverse=True)
    assert lower[20] > 0.95


def test_broken_assumptions_are_reported() -> None:
    prior = SharedPrior(["dear", "cheap"], [0.6, 0.5], 0.2 * np.eye(2))
    truth = {Arm("s", "dear"): 0.4, Arm("s", "cheap"): 0.6}
    study = StudySpec("s", {"dear": 1e4, "cheap": 1.0})

    def broken(study: StudySpec = study, **options: object) -> tuple[str, ...]:
        arguments = {"warm_start": "none", "devices": 1, **options}
        run = simulate([study], truth, prior, **arguments)  # type: ignore[arg-type]
        return bounds_of_run(prior, truth, run.events).broken

    assert broken() == ()
    assert broken(warm_start="mean") == ("a warm start chose trials",)
    assert broken(StudySpec("s", study.costs, weight=9.0)) == (
        "study 's' has a weight other than 1",
    )
    assert broken(StudySpec("s", study.costs, floor=0.5)) == (
        "study 's' has scores below its floor",
    )
    assert broken(disturbances=Disturbances(failure=1.0)) == ("trials failed or were lost",)
    wide = SharedPrior(["dear", "cheap"], [0.6, 0.5], 2.0 * np.eye(2))
    run = simulate([study], truth, wide, devices=1, warm_start="none")
    assert bounds_of_run(wide, truth, run.events).broken == (
        "a prior standard deviation is above 1",
    )
    with pytest.raises(InvalidInput, match="without studies or devices"):
        bounds_of_run(prior, truth, [])


def test_the_score_bound_reaches_from_the_floor_to_the_best() -> None:
    prior = SharedPrior(["m"], [0.5], [[0.25]])
    truth = {Arm("s", "m"): 0.5}
    run = simulate([StudySpec("s", {"m": 2.0}, floor=-3.0)], truth, prior, warm_start="none")
    assert bounds_of_run(prior, truth, run.events).score_bound == 3.5


def test_studies_that_list_different_models_of_one_prior() -> None:
    prior = SharedPrior(["a", "b"], [0.0, 0.0], np.diag([0.04, 0.25]))
    studies = [StudySpec("s", {"a": 1.0}), StudySpec("t", {"b": 1.0})]
    truth = {Arm("s", "a"): 0.1, Arm("t", "b"): 0.1}
    run = simulate(studies, truth, prior, devices=1, warm_start="none")
    bounds = bounds_of_run(prior, truth, run.events)
    assert bounds.miu == Bounds(0.5, 0.5)  # of two independent arms, the larger deviation


def test_a_score_known_to_within_rounding_is_not_excluded() -> None:
    # Two nearly equal arms: given the first, the deviation of the second counts as zero.
    covariance = np.array([[1.0, 1.0 - 1e-14], [1.0 - 1e-14, 1.0]])
    prior = SharedPrior(["a", "b"], [0.0, 0.0], covariance)
    truth = {Arm("s", "a"): 0.5, Arm("s", "b"): 0.5 + 5e-8}
    run = simulate(
        [StudySpec("s", {"a": 1.0, "b": 1.0})], truth, prior, devices=1, warm_start="none"
    )
    assert np.isfinite(bounds_of_run(prior, truth, run.events).radius)
