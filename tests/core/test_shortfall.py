"""How far a study's best arm is believed to be above its incumbent."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from scipy.integrate import quad

from bentham.core import LearnedPrior, Scheduler
from bentham.core.gaussian.predictive import Outlook, factors
from bentham.core.gaussian.shortfall import Shortfall, mean_correlation, shortfall
from bentham.core.gaussian.validation import Vector
from bentham.core.gaussian.warp import NO_WARP, Warp
from bentham.core.worlds.draws import draw
from bentham.tables import load_table


def plain(mean: Vector, sigma: Vector, incumbent: float, correlation: float = 0.0) -> Shortfall:
    """Return the shortfall of Gaussians, without a warp."""
    outlook = Outlook(mean, sigma, 1.0, *factors(math.inf), NO_WARP)
    return shortfall(outlook, np.arange(len(mean)), correlation, incumbent)


def moments(mean: list[float], sigma: list[float], incumbent: float) -> tuple[float, float]:
    """Return mean and variance by integrating over the density of the maximum."""
    known = [m for m, s in zip(mean, sigma, strict=True) if s == 0.0]
    highest_known = max([incumbent, *known])
    unknown = [NormalDist(m, s) for m, s in zip(mean, sigma, strict=True) if s > 0.0]

    def density(z: float) -> float:
        each = [arm.cdf(z) for arm in unknown]
        return math.fsum(
            arm.pdf(z) * math.prod(each[:index] + each[index + 1 :])
            for index, arm in enumerate(unknown)
        )

    certain = highest_known - incumbent
    # Integrate piecewise: quad could miss a narrow peak.
    edges = [arm.mean + side * arm.stdev for arm in unknown for side in (-9.0, 0.0, 9.0)]
    edges = sorted({highest_known, *(edge for edge in edges if edge > highest_known)})
    above = [
        math.fsum(
            quad(lambda z, p=power: (z - incumbent) ** p * density(z), low, high, limit=400)[0]
            for low, high in pairwise(edges)
        )
        for power in (0, 1, 2)
    ]
    first = above[1] + (1.0 - above[0]) * certain
    second = above[2] + (1.0 - above[0]) * certain**2
    return first, second - first**2


@pytest.mark.parametrize(
    ("mean", "sigma", "incumbent"),
    [
        ([0.5], [0.1], 0.4),
        ([0.5, 0.6, 0.2], [0.1, 0.02, 0.4], 0.55),
        ([0.5, 0.6, 0.2], [0.1, 0.02, 0.4], 0.0),
        ([0.5] * 30, [0.1] * 30, 0.6),
        ([0.7, 0.5], [0.0, 0.2], 0.1),  # one is known, but has not run
        ([0.7], [0.0], 0.9),
        ([-3.0, -2.5], [0.5, 0.5], -2.8),
        ([0.98, 0.3, 0.4], [1e-4, 0.2, 0.15], 0.9795),  # one is almost known, others are not
        ([0.6, 0.5], [1e-6, 0.02], 0.2),
    ],
)
def test_moments_of_the_shortfall(mean: list[float], sigma: list[float], incumbent: float) -> None:
    found = plain(np.array(mean), np.array(sigma), incumbent)
    gap, variance = moments(mean, sigma, incumbent)
    assert found.gap == pytest.approx(gap, rel=1e-3, abs=1e-5)
    assert found.variance == pytest.approx(variance, rel=5e-3, abs=1e-6)


def test_moments_against_monte_carlo() -> None:
    rng = np.random.default_rng(3)
    mean, sigma = rng.uniform(0.4, 0.8, 20), rng.uniform(0.01, 0.2, 20)
    draws = rng.normal(mean, sigma, (100_000, 20)).max(axis=1)
    sampled = np.maximum(draws - 0.85, 0.0)
    found = plain(mean, sigma, 0.85)
    assert found.gap == pytest.approx(sampled.mean(), rel=0.02)
    assert found.variance == pytest.approx(sampled.var(), rel=0.03)


def test_no_untried_arm_means_no_shortfall() -> None:
    assert plain(np.zeros(0), np.zeros(0), 0.3) == (0.0, 0.0)
    assert plain(np.array([math.nan]), np.ones(1), 0.3) == (0.0, 0.0)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("freedom", [4.0, math.inf])
@pytest.mark.parametrize("warp", [NO_WARP, Warp(1.0, 0.5)])
def test_common_factors_against_monte_carlo(correlation: float, freedom: float, warp: Warp) -> None:
    """Monte Carlo of the assumptions: equal correlation, uncertain scale, warped scores."""
    rng = np.random.default_rng(5)
    arms, worlds = 12, 200_000
    mean, sigma = rng.uniform(-0.3, 0.3, arms), rng.uniform(0.05, 0.3, arms)
    spreads, weights = factors(freedom)
    incumbent = float(warp.inverse(np.array([0.2]))[0])
    common, independent = rng.standard_normal((worlds, 1)), rng.standard_normal((worlds, arms))
    deviations = correlation**0.5 * common + (1.0 - correlation) ** 0.5 * independent
    spread = rng.choice(spreads, (worlds, 1), p=weights)
    best = warp.inverse(mean + spread * sigma * deviations).max(axis=1)
    sampled = np.maximum(best - incumbent, 0.0)
    outlook = Outlook(mean, sigma, 1.0, spreads, weights, warp)
    found = shortfall(outlook, np.arange(arms), correlation, incumbent)
    assert found.gap == pytest.approx(sampled.mean(), rel=0.02)
    assert found.variance**0.5 == pytest.approx(sampled.std(), rel=0.05)


def test_the_mean_correlation_is_that_of_the_posterior() -> None:
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6))
    scheduler = Scheduler(LearnedPrior([f"m{n}" for n in range(6)], scores))
    scheduler.add_study("s", {f"m{n}": 1.0 for n in range(6)})
    scheduler.add_device("d")
    for score in (0.2, -0.4):
        decision = scheduler.ask("d")
        assert decision is not None
        scheduler.tell(decision.trial, score)
    (block,) = scheduler._state.blocks()
    posterior = block.belief.posterior
    columns = np.flatnonzero(posterior.variance > 0.0)
    covariance = np.array([posterior.covariance(int(column))[columns] for column in columns])
    deviation = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviation, deviation)
    pairs = correlation[np.triu_indices(len(columns), 1)]
    found = mean_correlation(block.prior, posterior, np.arange(6))
    assert found == pytest.approx(pairs.mean())
    assert mean_correlation(block.prior, posterior, columns[:1]) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("known", [0, 30])
def test_close_to_joint_draws_on_real_scores(known: int) -> None:
    """Real arms are not equally correlated; the sum over studies is within 25 % of joint draws."""
    table, rng = load_table("oboe"), np.random.default_rng(1)
    complete = rng.permutation(np.flatnonzero(~np.isnan(table.scores).any(axis=1)))
    models = rng.permutation(table.scores.shape[1])[:20]
    rows, names = complete[:12], [str(model) for model in models]
    history = table.scores[np.ix_(complete[12 : 12 + known], models)]
    scheduler = Scheduler(LearnedPrior(names, history) if known else None)
    for study, row in enumerate(rows):
        scheduler.add_study(str(study), dict(zip(names, table.costs[row, models], strict=True)))
    scheduler.add_device("d")
    for step in range(61):
        if step % 30 == 0:
            worlds = draw(scheduler, [np.random.default_rng(seed) for seed in range(300)])
            incumbents = {
                study: (scheduler.incumbent(study) or ("", 0.0))[1] for study in scheduler.studies
            }
            sampled = sum(
                max(0.0, best - incumbents[study])
                for world in worlds
                for study, best in world.bests().items()
            )
            found = sum(scheduler.shortfall(study).gap for study in scheduler.studies)
            assert found == pytest.approx(sampled / len(worlds), rel=0.25)
        decision = scheduler.ask("d")
        assert decision is not None
        score = table.scores[rows[int(decision.study)], int(decision.model)]
        scheduler.tell(decision.trial, float(score))
