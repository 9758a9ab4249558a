"""Regret over time, against figures computed one by one."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.pools import Story
from support.service_app import NOON, Service

from bentham.core.gaussian.shortfall import Shortfall
from bentham.service.engine.scope import SERVER, Scope
from bentham.service.fold.entities import Study
from bentham.service.fold.events import StudyClosed
from bentham.service.views.estimates import Estimates
from bentham.service.views.trend import trend_view


def run(service: Service, device: str, score: float, seconds: float = 1.0) -> Any:
    lease = service.lease(device)
    service.clock.advance(seconds)
    service.report(device, lease, score=score).ok()
    return lease


def estimates_of(service: Service, studies: list[Study]) -> dict[str, Shortfall]:
    return service.app.state.context.service.estimates.estimate(service.pool, studies)  # type: ignore[no-any-return]


def incumbent_at(service: Service, study: Study, time: float) -> float:
    """Compute a past incumbent from the trials, not from the record of the study."""
    found = [
        trial.score
        for trial in service.pool.trials.values()
        if trial.study.shared is study.shared
        and trial.model in study.models
        and trial.score is not None
        and trial.ended is not None
        and trial.ended <= time
        and (study.closed is None or trial.ended <= study.closed)
    ]
    return max(found, default=study.floor)


@pytest.fixture
def story(service: Service) -> dict[str, str]:
    """Create studies that share data, improve, pause and end; return the tenants' tokens."""
    one, two = service.tenant("one"), service.tenant("two")
    device = service.device()
    rng = np.random.default_rng(5)
    service.study(one, "a", 4, floor=0.1)
    for _ in range(2):
        run(service, device, float(rng.uniform(0.2, 0.9)))
    service.study(one, "b", 5, dataset="shared")
    service.study(two, "c", 3)
    for _ in range(4):
        run(service, device, float(rng.uniform(0.2, 0.9)), 2.0)
    service.study(one, "b too", 4, dataset="shared", floor=0.05)
    ended = service.study(two, "d", 2)
    paused = service.study(two, "e", 8)
    for _ in range(3):
        run(service, device, float(rng.uniform(0.2, 0.9)))
    service.post(f"/v1/studies/{ended}/close", None, two).ok()
    service.get("/v1/overview")
    service.post(f"/v1/studies/{paused}/pause", None, two).ok()
    for _ in range(2):
        run(service, device, float(rng.uniform(0.2, 0.9)))
    service.clock.advance(3.0)
    return {"one": one, "two": two}


QUERIES = ("", "seconds=5", "points=7", "seconds=1e6&points=1000")


def test_agrees_with_direct_computation(service: Service, story: dict[str, str]) -> None:
    for who, query in itertools.product(("admin", "one", "two"), QUERIES):
        compare(service, story, who, query)
    # The story is not trivial.
    shown = service.get("/v1/trend")
    assert len(set(shown["studies"])) >= 4
    assert shown["round_robin"] != shown["regret"]
    assert shown["high"][-1] > shown["regret"][-1] > shown["low"][-1] >= 0.0


def compare(service: Service, story: dict[str, str], who: str, query: str) -> None:
    shown = service.get("/v1/trend", story.get(who, ""), query)
    studies = [s for s in service.pool.studies.values() if who in ("admin", s.tenant.name)]
    known = estimates_of(service, studies)
    now = service.clock.now
    first = min(study.created for study in studies)
    since = max(first, now - 5.0) if "seconds=5" in query else first
    points = 7 if "points=7" in query else 1000 if "points=1000" in query else 300
    assert (shown["time"], shown["since"]) == (now, since)
    assert shown["times"] == pytest.approx(np.linspace(since, now, points).tolist(), abs=2e-3)
    for index in range(0, points, max(1, points // 40)):
        time = float(np.linspace(since, now, points)[index])
        open_studies = [
            s for s in studies if s.created <= time and not (s.closed and s.closed <= time)
        ]
        regrets = [
            s.incumbent + known[s.id].gap - incumbent_at(service, s, time) for s in open_studies
        ]
        mean = sum(regrets) / len(open_studies)
        assert shown["studies"][index] == len(open_studies)
        assert shown["regret"][index] == pytest.approx(mean, abs=2e-9)
        deviations: dict[str, float] = {}
        for study in open_studies:
            key = f"{study.tenant.name} {study.dataset}"
            deviations[key] = deviations.get(key, 0.0) + math.sqrt(known[study.id].variance)
        spread = 1.2815516 * math.sqrt(sum(d * d for d in deviations.values())) / len(open_studies)
        assert shown["low"][index] == pytest.approx(max(0.0, mean - spread), abs=1e-8)
        assert shown["high"][index] == pytest.approx(mean + spread, abs=1e-8)
    assert (shown["round_robin"] is None) == (who != "admin")
    assert all(len(shown[name]) == points for name in ("regret", "low", "high", "studies"))


def test_without_studies_and_scores(service: Service) -> None:
    tenant = service.tenant("a")
    shown = service.get("/v1/trend", tenant)
    assert (shown["since"], shown["times"], shown["regret"]) == (NOON, [NOON], [0.0])
    assert (shown["studies"], shown["round_robin"]) == ([0], None)
    service.study(tenant)
    service.clock.advance(10.0)
    shown = service.get("/v1/trend", tenant, "points=2")
    assert shown["times"] == [NOON, NOON + 10.0]
    assert shown["studies"] == [1, 1]
    assert shown["regret"][0] == shown["regret"][1] > 0.0


def test_scores_below_the_floor(service: Service) -> None:
    """Regret never rises, although the floor is above all scores."""
    service.study(service.tenant("a"), models=4)
    device = service.device()
    for score in (-5.0, -7.0, -2.0):
        run(service, device, score)
    regret = service.get("/v1/trend")["regret"]
    assert regret == sorted(regret, reverse=True)
    assert regret[0] == pytest.approx(regret[-1] + 3.0)


def test_invalid_queries(service: Service) -> None:
    for query in ("seconds=0", "seconds=nan", "seconds=x", "points=1", "points=1001"):
        assert service.request("GET", "/v1/trend", query=query).status == 422
    device = service.token("device")
    assert service.request("GET", "/v1/trend", token=device).status == 403


def test_it_starts_with_the_latest_closed_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    story.devices(1)
    for name, tenant, closed in (("s0", "a", 10.0), ("s1", "b", 20.0), ("s2", "a", 30.0)):
        story.study(name, tenant=tenant)
        story.end(story.start("gpu-0"), 0.5)
        story.now = closed
        story.add(StudyClosed(name, "enough"))
    story.study("s3")
    story.now = 40.0

    def shown() -> Any:
        return trend_view(story.pool, Scope(story.pool, SERVER), Estimates(), 40.0, None, 5)

    assert shown()["since"] == 0.0
    monkeypatch.setattr("bentham.service.views.trend.MOST_CLOSED", 2)
    found = shown()
    assert (found["since"], found["times"]) == (10.0, [10.0, 17.5, 25.0, 32.5, 40.0])
    assert found["studies"] == [1, 1, 1, 1, 1]
