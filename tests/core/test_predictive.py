"""Predictions and expected improvement under warps and t distributions, against integration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

from bentham.core.gaussian.acquisition import warped_improvement
from bentham.core.gaussian.posterior import Posterior
from bentham.core.gaussian.predictive import Outlook, factors, gaussian_improvement
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.warp import Warp

scores = st.floats(-5.0, 5.0)
softness = st.floats(0.01, 100.0)


@given(score=scores, top=scores, softness=softness)
def test_inverse_of_a_warp(score: float, top: float, softness: float) -> None:
    warp = Warp(top, softness)
    warped = warp(np.array([score]))
    assert warp.inverse(warped)[0] == pytest.approx(score, abs=1e-9 * (1.0 + abs(score) + softness))
    step = 1e-6 * softness
    slope = (warp(score + step) - warp(score - step)) / (2.0 * step)
    if abs(score - top) > 2.0 * step:
        assert 1.0 / slope == pytest.approx(float(warp.unit(score)), rel=1e-4)


def test_no_warp_does_not_change_scores() -> None:
    values = np.array([-3.0, 0.0, 7.5])
    assert Warp()(values) is values
    assert Warp().inverse(values) is values
    assert Warp().unit(values) == pytest.approx(np.ones(3))


def test_a_soft_warp_is_nearly_straight() -> None:
    warp = Warp(1.0, 1e6)
    assert (warp(np.array([0.2, 0.7])) * 1e6 + 1.0) == pytest.approx([0.2, 0.7], abs=1e-5)


@pytest.mark.slow
@given(
    gap=st.floats(-8.0, 8.0),
    sigma=st.floats(1e-3, 4.0),
)
@settings(max_examples=200)
def test_warped_improvement_is_the_integral(gap: float, sigma: float) -> None:
    def integrand(u: float) -> float:
        return -math.expm1(-(gap + sigma * u)) * float(norm.pdf(u))

    start = max(-gap / sigma, -14.0)
    value, _ = quad(integrand, start, max(start, 0.0) + 14.0, limit=200, epsabs=1e-13)
    ours = float(warped_improvement(np.array([gap]), np.array([sigma]))[0])
    assert ours == pytest.approx(max(value, 0.0), abs=1e-10)


def test_warped_improvement_in_extreme_cases() -> None:
    # With sigma 0 it is the improvement itself; far above it is 1, far below 0, without warnings.
    gaps = np.array([1.0, -1.0, 700.0, -700.0, 0.0, 3.0])
    sigma = np.array([0.0, 0.0, 1.0, 1.0, 50.0, 1e-9])
    found = warped_improvement(gaps, sigma)
    assert found[:4] == pytest.approx([1.0 - math.exp(-1.0), 0.0, 1.0, 0.0], abs=1e-12)
    assert 0.45 < found[4] < 0.5
    assert np.all((found >= 0.0) & (found <= 1.0))
    # Small steps on a soft warp are nearly linear.
    line = warped_improvement(np.array([1e-7]), np.array([1e-6]))[0]
    assert line == pytest.approx(1e-6 * (0.1 * norm.cdf(0.1) + norm.pdf(0.1)), rel=1e-4)


@given(freedom=st.floats(2.0, 150.0))
@settings(max_examples=60)
def test_factors_make_a_t_distribution(freedom: float) -> None:
    multiples, weights = factors(freedom)
    assert weights.sum() == pytest.approx(1.0)
    for u in (-3.0, -1.0, 0.0, 0.5, 2.0):
        ours = float(weights @ norm.cdf(u / multiples))
        assert ours == pytest.approx(float(student.cdf(u, freedom)), abs=1e-2)


def test_with_enough_freedom_a_t_is_a_gaussian() -> None:
    multiples, weights = factors(1e9)
    assert multiples.tolist() == weights.tolist() == [1.0]


def t_improvement(mean: float, scale: float, incumbent: float, freedom: float, warp: Warp) -> float:
    def integrand(u: float) -> float:
        score = float(warp.inverse(np.array([mean + scale * u]))[0])
        return max(score - incumbent, 0.0) * float(student.pdf(u, freedom))

    start = (float(warp(incumbent)) - mean) / scale
    value, _ = quad(integrand, start, start + 400.0, limit=500)
    return float(value)


@pytest.mark.parametrize("incumbent", [0.3, 0.6, 0.8, 0.9, 0.93])
@pytest.mark.parametrize("softness", [math.inf, 0.1])
def test_improvement_of_a_t_is_close_to_its_integral(incumbent: float, softness: float) -> None:
    warp = Warp(0.0 if math.isinf(softness) else 0.9, softness)
    mean = float(warp(0.6))
    scale = 0.1 / float(warp.unit(0.6))
    prior = BlockPrior.of(
        np.array([mean]), np.array([scale**2]), np.arange(1), lambda _: np.array([scale**2]),
        warp, 5.0, 5.0,
    )  # fmt: skip
    outlook = Outlook.of(Posterior(prior), prior)
    ours = float(outlook.improvement(incumbent)[0])
    expected = t_improvement(mean, scale, incumbent, 5.0, warp)
    assert ours == pytest.approx(expected, rel=0.05, abs=1e-4)


def test_the_scale_of_a_dataset_grows_with_residuals() -> None:
    matrix = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])
    prior = BlockPrior.of(
        np.zeros(3), np.ones(3), np.arange(3), matrix.__getitem__, Warp(), 4.0, 5.0
    )
    outlooks = []
    for residual in (0.1, 3.0):
        posterior = Posterior(prior)
        posterior.observe(0, residual)
        posterior.observe(1, -residual)
        inverse = np.linalg.inv(matrix[:2, :2])
        vector = np.array([residual, -residual])
        assert posterior.distance == pytest.approx(vector @ inverse @ vector)
        outlook = Outlook.of(posterior, prior)
        assert outlook.scale**2 == pytest.approx((4.0 + posterior.distance) / (4.0 + 2.0))
        outlooks.append(outlook)
    assert outlooks[0].sigma[2] < math.sqrt(posterior.variance[2]) < outlooks[1].sigma[2]


def test_intervals_are_in_scores() -> None:
    warp = Warp(1.0, 0.1)
    prior = BlockPrior.of(
        warp(np.array([0.8])), np.array([0.25]), np.arange(1), lambda _: np.array([0.25]), warp
    )
    median, half = Outlook.of(Posterior(prior), prior).interval()
    assert median[0] == pytest.approx(0.8)
    low, high = warp.inverse(warp(0.8) + np.array([-0.5, 0.5]))
    assert half[0] == pytest.approx((high - low) / 2.0)


def test_without_warp_and_freedom_it_is_the_formula_of_the_paper() -> None:
    mean, sigma = np.array([0.5, 0.7]), np.array([0.1, 0.2])
    value = gaussian_improvement(mean, sigma, 0.6, Warp())
    for m, s, ours in zip(mean, sigma, value, strict=True):
        u = (m - 0.6) / s
        assert ours == pytest.approx(s * (u * norm.cdf(u) + norm.pdf(u)))


def test_an_interval_far_below_all_scores_has_no_width() -> None:
    warp = Warp(1.0, 1e-3)
    prior = BlockPrior.of(
        np.array([-800.0]), np.array([0.25]), np.arange(1), lambda _: np.array([0.25]), warp
    )
    median, half = Outlook.of(Posterior(prior), prior).interval()
    assert median[0] == -math.inf
    assert math.isnan(half[0])
