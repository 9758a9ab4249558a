from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentham.core import RegretMeter


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


def test_weights_count_in_both() -> None:
    meter = RegretMeter([1.0, 1.0], floors=[0.0, 0.0], weights=[3.0, 1.0])
    meter.observe(1.0, [(0, 1.0)])
    regret = meter.finish(2.0)
    assert regret.cumulative == pytest.approx(3.0 * 1.0 + 1.0 * 2.0)
    assert regret.curve == ((0.0, 1.0), (1.0, 0.25))


def test_the_first_score_stands_even_below_the_floor() -> None:
    meter = RegretMeter([-1.0], floors=[0.0])
    meter.observe(1.0, [(0, -3.0)])
    meter.observe(2.0, [(0, -1.0)])
    assert meter.finish(2.0).curve == ((0.0, -1.0), (1.0, 2.0), (2.0, 0.0))


def test_a_level_is_reached_in_spite_of_rounding() -> None:
    meter = RegretMeter([0.8] * 3, floors=[0.0] * 3)  # 0.8 - 0.77 is above 0.03 in floats
    meter.observe(1.0, [(0, 0.77), (1, 0.77), (2, 0.77)])
    assert meter.finish(1.0).time_to(0.03) == 1.0


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
