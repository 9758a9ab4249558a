"""Priors from history: against numpy and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from bentham.core import KERNELS, kernel_prior, sample_prior
from bentham.core.gaussian.kernels import correlation
from bentham.errors import InvalidInput, InvalidPrior
from bentham.tables import draw_synthetic

SKLEARN_KERNELS = {
    "matern12": lambda scale: Matern(scale, nu=0.5),
    "matern32": lambda scale: Matern(scale, nu=1.5),
    "matern52": lambda scale: Matern(scale, nu=2.5),
    "rbf": RBF,
}


@given(seed=st.integers(0, 1000), models=st.integers(1, 6), studies=st.integers(2, 9))
def test_sample_is_mean_and_covariance(seed: int, models: int, studies: int) -> None:
    history = np.random.default_rng(seed).normal(size=(studies, models))
    prior = sample_prior([str(i) for i in range(models)], history)
    assert prior.jitter == 1e-6
    assert prior.mean == pytest.approx(history.mean(axis=0), abs=1e-12)
    expected = np.atleast_2d(np.cov(history.T, ddof=1))
    assert prior.covariance == pytest.approx(expected, abs=1e-12)
    assert prior.block("any").variance == pytest.approx(np.diag(expected) + 1e-6, abs=1e-12)


def test_kernels_agree_with_scikit_learn() -> None:
    assert set(KERNELS) == set(SKLEARN_KERNELS)
    features = np.random.default_rng(0).random((7, 3))
    scales = np.array([0.2, 0.5, 1.5])
    for name, theirs in SKLEARN_KERNELS.items():
        assert correlation(name, features, scales) == pytest.approx(
            theirs(scales)(features), abs=1e-12
        )


def negative_log_likelihood(
    history: np.ndarray, features: np.ndarray, kernel: str, scale: float, variance: float,
    mean: float, jitter: float,
) -> float:  # fmt: skip
    """Return scikit-learn's negative log marginal likelihood, summed over studies."""
    total = 0.0
    for study in history:
        ran = np.isfinite(study)
        theirs = GaussianProcessRegressor(
            ConstantKernel(variance) * SKLEARN_KERNELS[kernel](scale), alpha=jitter, optimizer=None
        )
        theirs.fit(features[ran], study[ran] - mean)
        total -= theirs.log_marginal_likelihood_value_
    return total


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(sorted(SKLEARN_KERNELS)),
    missing=st.booleans(),
)
@settings(max_examples=12)
def test_kernel_parameters_maximize_the_likelihood(seed: int, kernel: str, missing: bool) -> None:
    rng = np.random.default_rng(seed)
    features = np.linspace(0, 1, 8)[:, np.newaxis]
    truth = 0.7 * correlation(kernel, features, 0.4) + 1e-3 * np.eye(8)
    history = rng.normal(2.0, 0.1) + rng.standard_normal((10, 8)) @ np.linalg.cholesky(truth).T
    if missing:
        history[rng.random(history.shape) < 0.3] = np.nan
        history[:, 0] = 2.0 + rng.standard_normal(10)
    names = [str(i) for i in range(8)]
    prior = kernel_prior(names, features, history, kernel, jitter=1e-3)
    mean, variance = float(prior.mean[0]), float(prior.covariance[0, 0])
    # Derive the length scale from a correlation, then compare the likelihood around it.
    scale = _scale_of(kernel, float(prior.covariance[0, 1] / variance), float(features[1, 0]))
    best = negative_log_likelihood(history, features, kernel, scale, variance, mean, 1e-3)
    for factor in (0.9, 1.1):
        for other in (
            (scale * factor, variance, mean),
            (scale, variance * factor, mean),
            (scale, variance, mean + 0.1 * (factor - 1.0)),
            (scale * factor, variance * factor, mean),
        ):
            value = negative_log_likelihood(history, features, kernel, *other, 1e-3)
            assert value >= best - 1e-3


def _scale_of(kernel: str, value: float, distance: float) -> float:
    scales = np.geomspace(1e-3, 1e3, 200_001)
    r = distance / scales
    return float(scales[np.abs(KERNELS[kernel](r) - value).argmin()])


def test_fixed_length_scales_are_kept() -> None:
    table = draw_synthetic(1)
    assert table.features is not None
    prior = kernel_prior(table.models, table.features, table.scores, length_scales=0.2)
    ratio = prior.covariance / prior.covariance[0, 0]
    assert ratio == pytest.approx(correlation("matern52", table.features, 0.2), abs=1e-12)


def test_the_synthetic_length_scale_is_recovered() -> None:
    table = draw_synthetic(2)
    assert table.features is not None
    prior = kernel_prior(table.models, table.features, table.scores[:20])
    expected = correlation("matern52", table.features, 0.2)
    assert prior.covariance / prior.covariance[0, 0] == pytest.approx(expected, abs=0.15)


def test_one_length_scale_per_feature() -> None:
    rng = np.random.default_rng(5)
    features = rng.random((20, 2))
    truth = correlation("matern52", features, np.array([0.3, 50.0])) + 1e-6 * np.eye(20)
    history = rng.standard_normal((30, 20)) @ np.linalg.cholesky(truth).T
    prior = kernel_prior([str(i) for i in range(20)], features, history)
    # The second feature does not matter: models that differ only there are almost equal.
    line = correlation("matern52", features[:, :1], 0.3)
    assert prior.covariance / prior.covariance[0, 0] == pytest.approx(line, abs=0.25)


@pytest.mark.parametrize(
    "history",
    [[[1.0, 1.0, 1.0]], [[0.0, 0.0, 0.0]] * 3, [[0.5, np.nan, np.nan]], [[1.0, 2.0, 3.0]]],
    ids=["one study, all equal", "all zero", "one score", "one study"],
)
def test_a_kernel_prior_from_almost_no_history(history: list[list[float]]) -> None:
    prior = kernel_prior(["a", "b", "c"], [0.0, 0.5, 1.0], history)
    assert np.all(np.isfinite(prior.covariance))
    assert np.all(prior.block("x").variance > 0.0)


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ([[1.0, 2.0]], "at least 2 historical studies"),
        ([[1.0, np.nan], [1.0, 2.0]], r"history\[0, 1\] is missing \(model 'b'\)"),
        ([[1.0, np.inf], [1.0, 2.0]], r"history\[0, 1\] is infinite"),
        ([[1.0, 2.0, 3.0]], r"shape \(1, 3\); expected \(studies, 2\)"),
        ([1.0, 2.0], "shape"),
    ],
)
def test_sample_prior_refuses_invalid_history(history: list[list[float]], words: str) -> None:
    with pytest.raises(InvalidPrior, match=words):
        sample_prior(["a", "b"], history)


def test_kernel_prior_refuses_invalid_arguments() -> None:
    history = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(InvalidInput, match="unknown kernel 'cosine'; choose one of matern12"):
        kernel_prior(["a", "b"], [0.0, 1.0], history, "cosine")
    with pytest.raises(InvalidPrior, match=r"features has shape \(3, 1\); expected \(2, 1\)"):
        kernel_prior(["a", "b"], [0.0, 1.0, 2.0], history)
    with pytest.raises(InvalidPrior, match="length_scales is"):
        kernel_prior(["a", "b"], [0.0, 1.0], history, length_scales=0.0)
    with pytest.raises(InvalidPrior, match=r"length_scales has shape \(3,\); expected \(1,\)"):
        kernel_prior(["a", "b"], [0.0, 1.0], history, length_scales=[1.0, 1.0, 1.0])
    with pytest.raises(InvalidPrior, match="features is ragged or contains a value"):
        kernel_prior(["a", "b"], ["x", "y"], history)
    with pytest.raises(InvalidPrior, match="features is ragged"):
        kernel_prior(["a", "b"], [[0.0], [1.0, 2.0]], history)
    with pytest.raises(InvalidPrior, match="history is ragged or contains a value that is not"):
        kernel_prior(["a", "b"], [0.0, 1.0], [["x", "y"]])
    tiny = kernel_prior(["a", "b"], [0.0, 1.0], history, length_scales=1e-320)
    assert tiny.covariance[0, 1] == 0.0  # at that scale no two models are similar
    for length_scales in (None, 0.5):
        with pytest.raises(InvalidPrior, match="pass a jitter above zero"):
            kernel_prior(["a", "b"], [1.0, 1.0], history, "rbf", length_scales, jitter=0.0)
    with pytest.raises(InvalidPrior, match="history contains no scores"):
        kernel_prior(["a", "b"], [0.0, 1.0], [[np.nan, np.nan]])
