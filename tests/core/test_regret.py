import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentham.core import RegretMeter
from bentham.core.theory.regret import PastRegret, happiness


def test_by_hand() -> None:
    meter = RegretMeter([1.0, 0.5], floors=[0.0, 0.0])
    meter.observe(2.0, [(0, 0.6)])
    meter.observe(3.0, [(1, 0.5), (0, 0.2)])  # a worse score changes nothing
    meter.observe(5.0, [(0, 1.0)])
    regret = meter.finish(10.0)
    # study 0: 1 for 2, then 0.4 for 3; study 1: 0.5 for 3
    assert regret.cumulative == pytest.approx(2.0 + 1.2 + 1.5)
    assert regret.curve == ((0.0, 0.75), (2.0, 0.45), (3.0, 0.2), (5.0, 0.0))
    assert regret.time_to(0.5) == 2.0
    assert regret.time_to(0.2) == 3.0
    assert regret.time_to(0.0) == 5.0
    assert regret.time_to(-0.1) is None


def test_weights() -> None:
    meter = RegretMeter([1.0, 1.0], floors=[0.0, 0.0], weights=[3.0, 1.0])
    meter.observe(1.0, [(0, 1.0)])
    regret = meter.finish(2.0)
    assert regret.cumulative == pytest.approx(3.0 * 1.0 + 1.0 * 2.0)
    assert regret.curve == ((0.0, 1.0), (1.0, 0.25))


def test_the_first_score_replaces_the_floor_even_if_lower() -> None:
    meter = RegretMeter([-1.0], floors=[0.0])
    meter.observe(1.0, [(0, -3.0)])
    meter.observe(2.0, [(0, -1.0)])
    assert meter.finish(2.0).curve == ((0.0, -1.0), (1.0, 2.0), (2.0, 0.0))


def test_a_level_is_reached_despite_rounding() -> None:
    meter = RegretMeter([0.8] * 3, floors=[0.0] * 3)  # 0.8 - 0.77 is above 0.03 in floats
    meter.observe(1.0, [(0, 0.77), (1, 0.77), (2, 0.77)])
    assert meter.finish(1.0).time_to(0.03) == 1.0


def test_regret_at_a_time() -> None:
    meter = RegretMeter([3.0], floors=[0.0])
    meter.observe(1.0, [(0, 0.0)])
    meter.observe(2.0, [(0, 2.0)])
    regret = meter.finish(2.0)
    assert [regret.at(time) for time in (0.0, 1.9, 2.0, 9.0)] == [3.0, 3.0, 1.0, 1.0]
    assert [regret.time_to_happiness(level) for level in (0.5, 0.7)] == [2.0, None]


def test_a_run_may_start_with_scores() -> None:
    meter = RegretMeter([1.0, 1.0], floors=[0.5, 0.5], scored=[True, False])
    meter.observe(1.0, [(0, 0.2), (1, 0.2)])  # study 0: below its best; study 1: its first score
    assert meter.mean == pytest.approx(0.65)
    meter.observe(2.0, [(0, 1.0), (1, 1.0)])
    assert meter.found


@given(seed=st.integers(0, 10_000), studies=st.integers(1, 30))
def test_the_mean_is_rounded_once(seed: int, studies: int) -> None:
    """Incremental updates give exactly the same float as a sum over all studies."""
    rng = np.random.default_rng(seed)
    best, weights = rng.normal(0, 1e3, studies).tolist(), rng.uniform(0.1, 9, studies).tolist()
    meter = RegretMeter(best, [0.0] * studies, weights)
    gaps, scored = list(best), [False] * studies
    for time in range(1, 40):
        study, score = (
            int(rng.integers(studies)),
            float(best[0] + rng.normal(0, 10.0 ** (time % 9))),
        )
        if not scored[study] or best[study] - score < gaps[study]:
            gaps[study], scored[study] = best[study] - score, True
        meter.observe(float(time), [(study, score)])
        products = [weight * gap for weight, gap in zip(weights, gaps, strict=True)]
        assert meter.mean == math.fsum(products) / math.fsum(weights)
        assert meter.found == (all(scored) and max(gaps) <= 0.0)


@given(seed=st.integers(0, 10_000), studies=st.integers(1, 6))
def test_past_regret_agrees_with_the_meter(seed: int, studies: int) -> None:
    rng = np.random.default_rng(seed)
    best, start = rng.uniform(1.0, 2.0, studies), rng.uniform(-1.0, 0.5, studies)
    meter = RegretMeter(best.tolist(), start.tolist(), scored=[True] * studies)
    improvements: list[list[tuple[float, float]]] = [[] for _ in range(studies)]
    for time in np.cumsum(rng.exponential(size=12)).tolist():
        study = int(rng.integers(studies))
        score = float(rng.uniform(start[study], best[study]))
        if score > (improvements[study][-1][1] if improvements[study] else start[study]):
            improvements[study].append((time, score))
        meter.observe(time, [(study, score)])
    grid = np.linspace(0.0, 15.0, 40)
    past = PastRegret(grid, np.zeros(studies), np.full(studies, np.inf), start)
    regret = meter.finish(15.0)
    expected = [regret.at(time) for time in grid.tolist()]
    assert past.mean(best, improvements) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("regret", "first", "expected"), [(0.5, 2.0, 0.75), (2.0, 2.0, 0.0), (0.0, 0.0, 1.0)]
)
def test_happiness_is_the_removed_share_of_regret(
    regret: float, first: float, expected: float
) -> None:
    assert happiness(regret, first) == expected


@given(seed=st.integers(0, 1000), studies=st.integers(1, 5))
def test_is_the_area_under_the_curve(seed: int, studies: int) -> None:
    rng = np.random.default_rng(seed)
    meter = RegretMeter([1.0] * studies, floors=[0.0] * studies)
    times = np.cumsum(rng.exponential(size=20))
    for time in times:
        meter.observe(float(time), [(int(rng.integers(studies)), float(rng.random()))])
    regret = meter.finish(float(times[-1]) + 1.0)
    steps = [*regret.curve, (regret.end_time, 0.0)]
    area = sum(mean * (later - time) for (time, mean), (later, _) in pairwise(steps))
    assert regret.cumulative == pytest.approx(studies * area)
    means = [mean for _, mean in regret.curve]
    assert means == sorted(means, reverse=True)
