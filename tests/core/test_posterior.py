"""The posterior against scikit-learn, against itself in another order, and in degenerate cases."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from support.problems import random_covariance

from bentham.core import JointPrior, Prior, ProductPrior, SharedPrior
from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.posterior import CHUNK_ENTRIES, Posterior

seeds = st.integers(0, 2**32 - 1)
KERNELS = {
    "matern12": lambda scale: Matern(scale, nu=0.5),
    "matern32": lambda scale: Matern(scale, nu=1.5),
    "matern52": lambda scale: Matern(scale, nu=2.5),
    "rbf": RBF,
}


def posterior_of(prior: Prior, dataset: str = "d") -> Posterior:
    return Posterior(prior.block(prior.block_key(dataset)))


@given(
    seed=seeds,
    kernel=st.sampled_from(sorted(KERNELS)),
    arms=st.integers(1, 12),
    jitter=st.sampled_from([1e-6, 1e-4, 1e-2]),
)
@settings(max_examples=150)
def test_agrees_with_scikit_learn(seed: int, kernel: str, arms: int, jitter: float) -> None:
    rng = np.random.default_rng(seed)
    features = rng.uniform(0, 1, (arms, 2))
    scales = rng.uniform(0.1, 1.0, 2)
    variance, constant = float(rng.uniform(0.2, 2.0)), float(rng.normal())
    covariance = variance * correlation(kernel, features, scales)
    # Scores from the prior itself: with others, both sides amplify rounding by 1 / jitter.
    root = np.linalg.cholesky(covariance + jitter * np.eye(arms))
    scores = constant + root @ rng.standard_normal(arms)
    prior = SharedPrior([str(i) for i in range(arms)], np.full(arms, constant), covariance, jitter)
    posterior = posterior_of(prior)
    observed = rng.permutation(arms)[: rng.integers(0, arms + 1)]
    for column in observed:
        posterior.observe(int(column), float(scores[column]))
    theirs = GaussianProcessRegressor(
        ConstantKernel(variance) * KERNELS[kernel](scales), alpha=jitter, optimizer=None
    )
    unobserved = np.setdiff1d(np.arange(arms), observed)
    if len(observed) and len(unobserved):
        theirs.fit(features[observed], scores[observed] - constant)
        mean, cov = theirs.predict(features[unobserved], return_cov=True)
        cov = cov + jitter * np.eye(
            len(unobserved)
        )  # scikit-learn predicts the function, we predict the score
        assert posterior.mean[unobserved] == pytest.approx(mean + constant, abs=1e-8)
        assert posterior.variance[unobserved] == pytest.approx(np.diag(cov), abs=1e-8)
        rows = np.array([posterior.covariance(int(column)) for column in unobserved])
        assert rows[:, unobserved] == pytest.approx(cov, abs=1e-8)
    assert posterior.mean[observed].tolist() == scores[observed].tolist()
    assert np.all(posterior.variance[observed] == 0.0)


@given(seed=seeds, arms=st.integers(2, 10))
def test_the_order_of_observations_does_not_matter(seed: int, arms: int) -> None:
    rng = np.random.default_rng(seed)
    prior = SharedPrior(
        [str(i) for i in range(arms)], rng.normal(size=arms), random_covariance(rng, arms), 1e-3
    )
    scores = rng.normal(size=arms)
    observed = rng.permutation(arms)[: arms // 2 + 1]
    one, other = posterior_of(prior), posterior_of(prior)
    for column in observed:
        one.observe(int(column), float(scores[column]))
    for column in observed[::-1]:
        other.observe(int(column), float(scores[column]))
    assert one.mean == pytest.approx(other.mean, abs=1e-8)
    assert one.variance == pytest.approx(other.variance, abs=1e-8)


@given(seed=seeds, models=st.integers(1, 5), datasets=st.integers(1, 4))
def test_the_three_layouts_agree(seed: int, models: int, datasets: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"m{i}" for i in range(models)]
    dataset_names = [f"d{i}" for i in range(datasets)]
    covariance = random_covariance(rng, models)
    similarity = random_covariance(rng, datasets)
    mean = rng.normal(size=models)
    arms = [(dataset, name) for dataset in dataset_names for name in names]
    jitter = 1e-4
    joint = JointPrior(arms, np.tile(mean, datasets), np.kron(similarity, covariance), jitter)
    product = ProductPrior(dataset_names, similarity, names, mean, covariance, jitter)
    order = rng.permutation(len(arms))[: rng.integers(0, len(arms) + 1)]
    scores = rng.normal(size=len(arms))
    _assert_same(joint, product, arms, order, scores)
    # With independent datasets, the shared layout gives the same.
    independent = np.eye(datasets)
    shared = SharedPrior(names, mean, covariance, jitter)
    joint = JointPrior(arms, np.tile(mean, datasets), np.kron(independent, covariance), jitter)
    product = ProductPrior(dataset_names, independent, names, mean, covariance, jitter)
    _assert_same(shared, product, arms, order, scores)
    _assert_same(shared, joint, arms, order, scores)


def _assert_same(
    one: Prior, other: Prior, arms: list[tuple[str, str]], order: object, scores: object
) -> None:
    views = [_condition(prior, arms, order, scores) for prior in (one, other)]
    for mine, theirs in zip(*views, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)


def _condition(
    prior: Prior, arms: list[tuple[str, str]], order: object, scores: object
) -> tuple[list[float], list[float]]:
    blocks: dict[str, Posterior] = {}
    for dataset, _ in arms:
        key = prior.block_key(dataset)
        blocks.setdefault(key, Posterior(prior.block(key)))

    def at(arm: int) -> tuple[Posterior, int]:
        dataset, model = arms[arm]
        return blocks[prior.block_key(dataset)], prior.columns(dataset)[model]

    for arm in order:  # type: ignore[attr-defined]
        posterior, column = at(arm)
        posterior.observe(column, float(scores[arm]))  # type: ignore[index]
    both = [at(arm) for arm in range(len(arms))]
    return [float(p.mean[c]) for p, c in both], [float(p.variance[c]) for p, c in both]


def test_independent_datasets_have_separate_blocks() -> None:
    similarity = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    prior = ProductPrior(["a", "b", "c"], similarity, ["m"], [0.0], [[1.0]])
    assert prior.block_key("a") == prior.block_key("b") != prior.block_key("c")
    assert prior.block(prior.block_key("a")).size == 2


def test_observing_a_model_determines_its_duplicate() -> None:
    covariance = np.array([[2.0, 2.0, 0.5], [2.0, 2.0, 0.5], [0.5, 0.5, 1.0]])
    posterior = posterior_of(SharedPrior(["a", "b", "c"], [0.3, 0.3, 0.0], covariance))
    posterior.observe(0, 0.7)
    assert posterior.variance[1] == 0.0
    assert posterior.mean[1] == pytest.approx(0.7, abs=1e-12)
    before = posterior.mean.copy()
    posterior.observe(1, 0.7)  # adds no information, and does not divide by zero
    assert posterior.mean == pytest.approx(before, abs=1e-12)


@given(seed=seeds, rank=st.integers(1, 3))
def test_a_singular_covariance_is_exhausted_after_its_rank(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, rank))
    posterior = posterior_of(SharedPrior(list("abcdef"), np.zeros(6), root @ root.T))
    scores = root @ rng.standard_normal(rank)
    # Observe as many arms as the rank, the best-conditioned first.
    for _ in range(rank):
        column = int(posterior.variance.argmax())
        posterior.observe(column, float(scores[column]))
    assert np.all(posterior.variance == 0.0)
    assert posterior.mean == pytest.approx(scores, abs=1e-5)


def test_an_arm_of_zero_variance_is_not_informative() -> None:
    posterior = posterior_of(SharedPrior(["a", "b"], [1.0, 2.0], np.diag([0.0, 1.0])))
    posterior.observe(0, 5.0)
    assert posterior.mean.tolist() == [5.0, 2.0]
    assert posterior.variance.tolist() == [0.0, 1.0]


def test_many_rows_are_summed_in_chunks() -> None:
    arms = 300  # 300 x 300 entries are more than one chunk
    assert arms * arms > CHUNK_ENTRIES
    features = np.linspace(0, 1, arms)[:, np.newaxis]
    covariance = correlation("matern12", features, 0.3)
    posterior = posterior_of(SharedPrior([str(i) for i in range(arms)], np.zeros(arms), covariance))
    scores = np.sin(6 * features[:, 0])
    order = np.random.default_rng(0).permutation(arms)[:280]
    for column in order:
        posterior.observe(int(column), float(scores[column]))
    unobserved = np.setdiff1d(np.arange(arms), order)
    gain = np.linalg.solve(
        covariance[np.ix_(order, order)], covariance[np.ix_(order, unobserved)]
    ).T
    assert posterior.mean[unobserved] == pytest.approx(gain @ scores[order], abs=1e-9)
    conditional = (
        covariance[np.ix_(unobserved, unobserved)] - gain @ covariance[np.ix_(order, unobserved)]
    )
    assert posterior.variance[unobserved] == pytest.approx(np.diag(conditional), abs=1e-9)


def test_results_do_not_depend_on_the_size_of_the_block() -> None:
    """A small block gives exactly the same values as summing its rows one by one."""
    rng = np.random.default_rng(3)
    covariance = random_covariance(rng, 5)
    for order in permutations(range(5), 3):
        posterior = posterior_of(SharedPrior(list("abcde"), np.zeros(5), covariance))
        rows: list[list[float]] = []
        for column in order:
            row = [float(value) for value in covariance[column]]
            total = [0.0] * 5
            for index, earlier in enumerate(rows):
                products = [earlier[column] * value for value in earlier]
                total = (
                    products if not index else [a + b for a, b in zip(total, products, strict=True)]
                )
            row = [value - part for value, part in zip(row, total, strict=True)]
            row = [
                0.0 if known else value
                for known, value in zip(posterior.variance == 0, row, strict=True)
            ]
            assert posterior.covariance(column).tolist() == row
            sigma = float(np.sqrt(posterior.variance[column]))
            rows.append([value / sigma for value in row])
            posterior.observe(column, 1.0)


def test_a_product_is_never_formed_in_full() -> None:
    # 90,000 arms: their covariance would take 65 GB.
    size = 300
    places = np.linspace(0, 1, size)[:, np.newaxis]
    matrix = correlation("matern52", places, 0.3)
    names = [str(i) for i in range(size)]
    prior = ProductPrior(names, matrix, names, np.zeros(size), matrix, jitter=1e-6)
    posterior = Posterior(prior.block(prior.block_key("0")))
    one, other = prior.columns("10")["20"], prior.columns("40")["50"]
    posterior.observe(one, 2.0)
    posterior.observe(other, 1.0)
    assert posterior.mean[[one, other]].tolist() == [2.0, 1.0]
    # Three arms by hand.
    near = prior.columns("11")["22"]
    arms = [(10, 20), (40, 50), (11, 22)]
    dense = np.array([[matrix[a, c] * matrix[b, d] for c, d in arms] for a, b in arms])
    gain = np.linalg.solve(dense[:2, :2] + 1e-6 * np.eye(2), dense[:2, 2])
    assert posterior.mean[near] == pytest.approx(gain @ [2.0, 1.0], abs=1e-10)
    conditional = dense[2, 2] + 1e-6 - gain @ dense[:2, 2]
    assert posterior.variance[near] == pytest.approx(conditional, abs=1e-10)
