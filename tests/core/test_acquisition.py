import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bentham.core.gaussian.acquisition import expected_improvement, tau

levels = st.floats(-8.0, 8.0)


@given(mean=levels, incumbent=levels, sigma=st.floats(1e-3, 5.0))
def test_agrees_with_numerical_integration(mean: float, incumbent: float, sigma: float) -> None:
    # E[max(z - a, 0)] is the integral of P(z > y) over y > a: bounded, smooth, no cancellation.
    upper = max(incumbent, mean + 40.0 * sigma)
    points = [p for p in (mean - 6 * sigma, mean, mean + 6 * sigma) if incumbent < p < upper]
    integral = sum(
        quad(lambda y: norm.sf(y, mean, sigma), a, b, epsabs=1e-13, epsrel=1e-13)[0]
        for a, b in zip([incumbent, *points], [*points, upper], strict=True)
    )
    value = expected_improvement(np.array([mean]), np.array([sigma]), incumbent)[0]
    assert value == pytest.approx(integral, abs=1e-10)


@given(u=st.floats(-30.0, 30.0))
def test_tau_satisfies_lemmas_1_and_2(u: float) -> None:
    value, mirrored = tau(np.array([u, -u]))
    assert value >= max(u, 0.0) - 1e-12
    assert value == pytest.approx(u + mirrored, abs=1e-12)  # tau(y) = y + tau(-y), Lemma 2
    step = 1e-5
    slope = (tau(np.array([u + step])) - tau(np.array([u - step])))[0] / (2 * step)
    assert slope == pytest.approx(norm.cdf(u), abs=1e-8)  # tau' = Phi, Lemma 1


def test_tau_is_accurate_in_the_far_tail() -> None:
    # tau(u) = phi(u) / u^2 (1 - 3/u^2 + 15/u^4 - 105/u^6 ...), an alternating series
    for u in (-20.0, -30.0, -36.0):
        terms = 1 - 3 / u**2 + 15 / u**4 - 105 / u**6 + 945 / u**8
        assert tau(np.array([u]))[0] == pytest.approx(norm.pdf(u) / u**2 * terms, rel=1e-8)
    assert np.all(tau(np.linspace(-40, -36, 1000)) >= 0.0)


def test_with_zero_sigma_it_is_the_gain() -> None:
    mean, sigma = np.array([2.0, 0.5, 1.0]), np.zeros(3)
    assert expected_improvement(mean, sigma, 1.0).tolist() == [1.0, 0.0, 0.0]


@given(mean=levels, incumbent=levels)
def test_is_continuous_as_sigma_vanishes(mean: float, incumbent: float) -> None:
    tiny, none = expected_improvement(np.array([mean] * 2), np.array([1e-9, 0.0]), incumbent)
    assert tiny == pytest.approx(none, abs=1e-9)


@given(mean=levels, incumbent=levels, sigma=st.floats(1e-3, 5.0), more=st.floats(1e-3, 5.0))
def test_increases_with_sigma_and_decreases_with_the_incumbent(
    mean: float, incumbent: float, sigma: float, more: float
) -> None:
    def at(deviation: float, best: float) -> float:
        return float(expected_improvement(np.array([mean]), np.array([deviation]), best)[0])

    assert at(sigma + more, incumbent) >= at(sigma, incumbent) - 1e-12
    assert at(sigma, incumbent + more) <= at(sigma, incumbent) + 1e-12


def test_no_warning_and_no_nan_at_extremes() -> None:
    mean = np.array([1e50, -1e50, 0.0, 1e-300])
    with np.errstate(all="raise", under="ignore", over="raise"):
        value = expected_improvement(mean, np.array([1e-160, 1e-160, 1e-160, 1e50]), 0.0)
    assert np.all(np.isfinite(value))
    assert value[0] == 1e50
    assert value[1] == 0.0
    assert value[3] == pytest.approx(1e50 / math.sqrt(2 * math.pi))
