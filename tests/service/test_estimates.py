"""Estimates of the shortfall of studies, and the limit on how many are computed per query."""

import math

import pytest
from support.service_app import Service

from bentham.core.gaussian.shortfall import Shortfall
from bentham.service.fold.entities import Study
from bentham.service.views import estimates as module
from bentham.service.views.estimates import Estimates, mean_band
from bentham.service.views.overview import RegretSum


def test_errors_of_studies_that_share_arms_are_correlated() -> None:
    mean, low, high = mean_band([0.2, 0.4], {1: 0.1, 2: 0.1})
    assert mean == pytest.approx(0.3)
    assert high - mean == pytest.approx(1.2816 * 0.1 / math.sqrt(2), rel=1e-3)
    assert mean - low == pytest.approx(high - mean)
    correlated = mean_band([0.2, 0.4], {1: 0.2})
    assert correlated[2] - correlated[0] == pytest.approx(1.2816 * 0.1, rel=1e-3)
    assert mean_band([0.01, 0.01], {1: 5.0})[1] == 0.0
    assert mean_band([], {}) == (0.0, 0.0, 0.0)


class Seconds:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def studies_of(service: Service) -> list[Study]:
    return list(service.pool.studies.values())


def test_a_query_computes_a_limited_number(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BURST", 2)
    monkeypatch.setattr(module, "PER_SECOND", 1)
    tenant = service.tenant("a")
    for number in range(4):
        service.study(tenant, f"s{number}", 3)
    clock = Seconds()
    estimates = Estimates(clock)

    def query() -> set[str]:
        return set(estimates.estimate(service.pool, studies_of(service)))

    assert (len(query()), estimates.made) == (2, 2)
    assert (len(query()), estimates.made) == (2, 2)
    clock.now += 1.0
    assert (len(query()), estimates.made) == (3, 3)
    clock.now += 100.0  # unused allowance does not accumulate
    assert (len(query()), estimates.made) == (4, 4)
    clock.now += 100.0
    query()
    assert estimates.made == 4
    # A score changes the posterior of all studies; each is computed in turn, the oldest first.
    device = service.device()
    service.report(device, service.lease(device), score=0.4).ok()
    for computed in (6, 7, 8):
        query()
        assert estimates.made == computed
        clock.now += 1.0
    query()
    assert estimates.made == 8
    assert (
        estimates.estimate(service.pool, studies_of(service)).keys() == service.pool.studies.keys()
    )


def test_stale_estimates_follow_the_incumbent(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PER_SECOND", 0)
    device, study = service.device(), service.study(service.tenant("a"), models=4)
    estimates = Estimates(Seconds())
    before = estimates.estimate(service.pool, studies_of(service))[study].gap
    assert before > 0.1
    monkeypatch.setattr(module, "BURST", 0)
    service.report(device, service.lease(device), score=before / 4).ok()
    after = estimates.estimate(service.pool, studies_of(service))[study].gap
    assert after == pytest.approx(0.75 * before)
    service.report(device, service.lease(device), score=9 * before).ok()
    assert estimates.estimate(service.pool, studies_of(service))[study].gap == 0.0


def test_failed_arms_do_not_count(service: Service) -> None:
    device, study = service.device(), service.study(service.tenant("a"), models=2)
    estimates = Estimates(Seconds())
    service.report(device, service.lease(device), score=0.5).ok()
    lease = service.lease(device)
    assert estimates.estimate(service.pool, studies_of(service))[study].gap > 0.0
    service.report(device, lease, "fail", final=True).ok()
    assert estimates.estimate(service.pool, studies_of(service))[study].gap == 0.0


def test_a_paused_study_keeps_its_estimate(service: Service) -> None:
    tenant = service.tenant("a")
    study = service.study(tenant, models=2)
    estimates = Estimates(Seconds())
    before = estimates.estimate(service.pool, studies_of(service))
    service.post(f"/v1/studies/{study}/pause", None, tenant).ok()
    assert estimates.estimate(service.pool, studies_of(service)) == before
    # After a start it is unknown; assuming a shortfall of zero would be wrong.
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
    total = RegretSum([study], {study.id: Shortfall(gap, 0.0)})
    assert total.happiness() == pytest.approx(expected)
    assert total.mean() == gap
