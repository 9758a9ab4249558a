"""Curves, speed-ups and their intervals, against plain computation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from bentham.reproduce.curves import (
    RESAMPLES,
    Curves,
    largest_speed_up,
    rank_correlation,
    regret_ratio,
    resamples,
    slope,
    speed_up,
)
from bentham.reproduce.runs import Result


def falling(seed: int, runs: int = 6, stretch: float = 1.0) -> list[Result]:
    """Return runs whose regret falls to zero in steps, stretched in time."""
    results = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        steps = 12
        times = np.concatenate([[0.0], np.cumsum(rng.exponential(1.0, steps))])
        levels = np.concatenate([[2.0], np.sort(rng.random(steps - 1))[::-1], [0.0]])
        curve = [
            [stretch * float(time), float(level)] for time, level in zip(times, levels, strict=True)
        ]
        area = sum(
            (later[0] - earlier[0]) * earlier[1] for earlier, later in itertools.pairwise(curve)
        )
        results.append(
            {
                "seed": run,
                "curve": curve,
                "cumulative_regret": area,
                "end_time": curve[-1][0],
                "warm_start_ends": curve[2][0],
                "regret_then": curve[2][1],
            }
        )
    return results


def mean_at(results: list[Result], time: float) -> float:
    return float(
        np.mean(
            [[mean for moment, mean in result["curve"] if moment <= time][-1] for result in results]
        )
    )


@given(st.integers(0, 1000), st.floats(0.001, 0.9))
def test_the_time_to_a_level_is_that_of_the_mean_curve(seed: int, level: float) -> None:
    results = falling(seed)
    curves = Curves.of(results)
    weights = np.full((1, len(results)), 1.0 / len(results))
    ((time,),) = curves.times_to(np.array([level]), weights)
    assert mean_at(results, time) <= level + 1e-9
    before = [moment for result in results for moment, _ in result["curve"] if moment < time]
    assert all(mean_at(results, moment) > level - 1e-9 for moment in before)


@pytest.mark.slow
@given(st.integers(0, 1000), st.floats(0.1, 20.0))
def test_a_stretched_curve_is_slower_by_its_factor(seed: int, stretch: float) -> None:
    fast, slow = Curves.of(falling(seed)), Curves.of(falling(seed, stretch=stretch))
    found = speed_up(slow, fast, fast.levels())
    _, largest = largest_speed_up(slow, fast, fast.levels())
    for one in (largest, found.typical, *found.by_level):
        assert one.value == pytest.approx(stretch)
        assert one.low == pytest.approx(stretch)
        assert one.high == pytest.approx(stretch)
    assert regret_ratio(slow, fast).value == pytest.approx(stretch)


def test_levels_start_where_the_warm_start_ends() -> None:
    curves = Curves.of(falling(1))
    levels = curves.levels()
    assert levels[0] == pytest.approx(np.mean([run["regret_then"] for run in falling(1)]))
    assert levels[-1] == pytest.approx(levels[0] / 20.0)


def test_sampled_curves_are_steps() -> None:
    results = falling(3)
    curves = Curves.of(results)
    times = np.array([0.0, 0.7, 2.0, 50.0])
    expected = [mean_at(results, time) for time in times]
    assert curves.sampled(times).mean(axis=0) == pytest.approx(expected)


def test_resamples_start_with_all_runs_and_keep_their_number() -> None:
    weights = resamples(7)
    assert weights.shape == (RESAMPLES + 1, 7)
    assert weights[0] == pytest.approx(np.full(7, 1 / 7))
    assert weights.sum(axis=1) == pytest.approx(np.ones(RESAMPLES + 1))
    assert np.array_equal(weights, resamples(7))
    assert weights[1:].std() > 0.0


@pytest.mark.parametrize("runs", [4, 5, 12, 40])
def test_intervals_have_their_nominal_coverage(runs: int) -> None:
    hits = 0
    for seed in range(400):
        noise = np.random.default_rng(seed).normal(0.0, 0.5, runs)
        curves = [
            Curves(np.array([0.0]), np.zeros((runs, 1)), regrets, 1.0)
            for regrets in (np.exp(noise), np.ones(runs))
        ]
        ratio = regret_ratio(*curves)
        hits += ratio.low <= 1.0 <= ratio.high
    assert 0.91 * 400 <= hits <= 0.985 * 400


@pytest.mark.slow
def test_the_largest_speed_up_is_not_the_largest_noise() -> None:
    """Without a speed-up, the largest of 20 levels exceeds 1; corrected, it hardly does."""
    naive, corrected = [], []
    for seed in range(60):
        one, other = Curves.of(falling(seed, 12)), Curves.of(falling(seed + 1000, 12))
        levels = one.levels()
        naive.append(max(level.value for level in speed_up(one, other, levels).by_level))
        corrected.append(largest_speed_up(one, other, levels)[1].value)
    assert np.median(naive) > 1.15
    assert np.median(corrected) == pytest.approx(1.0, abs=0.1)


def test_one_run_has_no_interval() -> None:
    ratio = regret_ratio(Curves.of(falling(1, 1, stretch=2.0)), Curves.of(falling(1, 1)))
    assert ratio.value == pytest.approx(2.0)
    assert ratio.low == 0.0
    assert ratio.high == float("inf")


@given(st.floats(-2.0, 2.0))
def test_slope_of_a_power_law(power: float) -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    y = np.outer(np.array([0.5, 1.0, 3.0]), x**power)
    found = slope(x, y)
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low == pytest.approx(power, abs=1e-9)


@pytest.mark.slow
@given(st.lists(st.integers(0, 5), min_size=5, max_size=20), st.integers(0, 99))
def test_rank_correlation_agrees_with_spearman(values: list[int], seed: int) -> None:
    x = np.array(values, dtype=float)
    y = np.random.default_rng(seed).integers(0, 6, len(x)).astype(float)
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return
    assert rank_correlation(x, y).value == pytest.approx(spearmanr(x, y).statistic)


def test_ratios_use_the_runs_in_common() -> None:
    many, few = Curves.of(falling(5, 6)), Curves.of(falling(5, 3, stretch=2.0))
    assert regret_ratio(few, many).value == pytest.approx(2.0)
