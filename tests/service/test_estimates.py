"""What studies are believed to fall short of, and what a look at that costs."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from scipy.integrate import quad
from support.service_app import Service

from bentham.service.fold.entities import Study
from bentham.service.views import estimates as module
from bentham.service.views.estimates import Estimates, mean_band, shortfall
from bentham.service.views.overview import happiness


def moments(mean: list[float], sigma: list[float], incumbent: float) -> tuple[float, float]:
    """The same by the density of the highest, another way to the same integrals."""
    known = [m for m, s in zip(mean, sigma, strict=True) if s == 0.0]
    incumbent_then = max([incumbent, *known])
    several = [NormalDist(m, s) for m, s in zip(mean, sigma, strict=True) if s > 0.0]

    def density(z: float) -> float:
        each = [one.cdf(z) for one in several]
        return math.fsum(
            one.pdf(z) * math.prod(each[:place] + each[place + 1 :])
            for place, one in enumerate(several)
        )

    certain = incumbent_then - incumbent
    # Where something may be: what has little spread is easily stepped over.
    edges = [one.mean + side * one.stdev for one in several for side in (-9.0, 0.0, 9.0)]
    edges = sorted({incumbent_then, *(edge for edge in edges if edge > incumbent_then)})
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
        ([0.7, 0.5], [0.0, 0.2], 0.1),  # one is known, and not run
        ([0.7], [0.0], 0.9),
        ([-3.0, -2.5], [0.5, 0.5], -2.8),
        ([0.98, 0.3, 0.4], [1e-4, 0.2, 0.15], 0.9795),  # one is all but known, others are not
        ([0.6, 0.5], [1e-6, 0.02], 0.2),
    ],
)
def test_moments_of_the_shortfall(mean: list[float], sigma: list[float], incumbent: float) -> None:
    found = shortfall(np.array(mean), np.array(sigma), incumbent)
    gap, variance = moments(mean, sigma, incumbent)
    assert found.gap == pytest.approx(gap, rel=1e-3, abs=1e-5)
    assert found.variance == pytest.approx(variance, rel=5e-3, abs=1e-6)


def test_moments_by_chance() -> None:
    rng = np.random.default_rng(3)
    mean, sigma = rng.uniform(0.4, 0.8, 20), rng.uniform(0.01, 0.2, 20)
    draws = rng.normal(mean, sigma, (100_000, 20)).max(axis=1)
    drawn = np.maximum(draws - 0.85, 0.0)
    found = shortfall(mean, sigma, 0.85)
    assert found.gap == pytest.approx(drawn.mean(), rel=0.02)
    assert found.variance == pytest.approx(drawn.var(), rel=0.03)


def test_nothing_left_is_no_shortfall() -> None:
    assert shortfall(np.zeros(0), np.zeros(0), 0.3) == (0.0, 0.0)


def test_what_shares_arms_errs_together() -> None:
    mean, low, high = mean_band([0.2, 0.4], {1: 0.1, 2: 0.1})
    assert mean == pytest.approx(0.3)
    assert high - mean == pytest.approx(1.2816 * 0.1 / math.sqrt(2), rel=1e-3)
    assert mean - low == pytest.approx(high - mean)
    together = mean_band([0.2, 0.4], {1: 0.2})
    assert together[2] - together[0] == pytest.approx(1.2816 * 0.1, rel=1e-3)
    assert mean_band([0.01, 0.01], {1: 5.0})[1] == 0.0
    assert mean_band([], {}) == (0.0, 0.0, 0.0)


class Seconds:
    """A clock that stands still unless moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def studies_of(service: Service) -> list[Study]:
    return list(service.pool.studies.values())


def test_a_look_makes_only_so_many_anew(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BURST", 2)
    monkeypatch.setattr(module, "PER_SECOND", 1)
    tenant = service.tenant("a")
    for number in range(4):
        service.study(tenant, f"s{number}", 3)
    clock = Seconds()
    estimates = Estimates(clock)

    def look() -> set[str]:
        return set(estimates.estimate(service.pool, studies_of(service)))

    assert (len(look()), estimates.made) == (2, 2)
    assert (len(look()), estimates.made) == (2, 2)
    clock.now += 1.0
    assert (len(look()), estimates.made) == (3, 3)
    clock.now += 100.0  # what was not used is not saved up
    assert (len(look()), estimates.made) == (4, 4)
    clock.now += 100.0
    look()
    assert estimates.made == 4
    # Something new is believed of all: who waited longest has its turn first, and all have one.
    device = service.device()
    service.report(device, service.lease(device), score=0.4).ok()
    for made in (6, 7, 8):
        look()
        assert estimates.made == made
        clock.now += 1.0
    look()
    assert estimates.made == 8
    assert (
        estimates.estimate(service.pool, studies_of(service)).keys() == service.pool.studies.keys()
    )


def test_what_is_old_follows_the_incumbent(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PER_SECOND", 0)
    device, study = service.device(), service.study(service.tenant("a"), models=4)
    estimates = Estimates(Seconds())
    before = estimates.of_studies(service.pool, studies_of(service))[study]
    assert before > 0.1
    monkeypatch.setattr(module, "BURST", 0)
    service.report(device, service.lease(device), score=before / 4).ok()
    after = estimates.of_studies(service.pool, studies_of(service))[study]
    assert after == pytest.approx(0.75 * before)
    service.report(device, service.lease(device), score=9 * before).ok()
    assert estimates.of_studies(service.pool, studies_of(service))[study] == 0.0


def test_what_failed_for_good_promises_nothing(service: Service) -> None:
    device, study = service.device(), service.study(service.tenant("a"), models=2)
    estimates = Estimates(Seconds())
    service.report(device, service.lease(device), score=0.5).ok()
    lease = service.lease(device)
    assert estimates.of_studies(service.pool, studies_of(service))[study] > 0.0
    service.report(device, lease, "fail", final=True).ok()
    assert estimates.of_studies(service.pool, studies_of(service))[study] == 0.0


def test_a_paused_study_is_believed_as_it_was(service: Service) -> None:
    tenant = service.tenant("a")
    study = service.study(tenant, models=2)
    estimates = Estimates(Seconds())
    before = estimates.estimate(service.pool, studies_of(service))
    service.post(f"/v1/studies/{study}/pause", None, tenant).ok()
    assert estimates.estimate(service.pool, studies_of(service)) == before
    # After a start nobody knows; to take it for as good as it can be would be wrong.
    assert Estimates().estimate(service.pool, studies_of(service)) == {}
    service.post(f"/v1/studies/{study}/close", None, tenant).ok()
    assert estimates.estimate(service.pool, studies_of(service)) == {study: (0.0, 0.0)}


@pytest.mark.parametrize(
    ("floor", "scores", "gap", "expected"),
    [
        (0.0, [], 0.5, 0.0),
        (0.0, [0.4], 0.1, 0.8),
        (0.5, [0.4, 0.6], 0.1, 2.0 / 3.0),
        (0.0, [-5.0, -3.0], 1.0, 2.0 / 3.0),  # all below the floor
        (0.0, [-5.0], 0.0, 1.0),
        (0.0, [0.4], 0.0, 1.0),
    ],
)
def test_happiness(
    service: Service, floor: float, scores: list[float], gap: float, expected: float
) -> None:
    service.study(service.tenant("a"), models=5, floor=floor)
    device = service.device()
    for score in scores:
        service.report(device, service.lease(device), score=score).ok()
    (study,) = studies_of(service)
    assert happiness(study, gap) == pytest.approx(expected)
