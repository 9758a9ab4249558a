"""The round-robin comparison: the same trials, with studies served in turn."""

from math import inf

import numpy as np
import pytest
from support.pools import COSTS, Story
from support.service_app import Service, serving

from bentham.service.engine.scope import SERVER, Scope
from bentham.service.views.baseline import Replays
from bentham.service.views.estimates import Estimates
from bentham.service.views.round_robin import PastRun, replayed, served_in_turn
from bentham.service.views.trend import trend_view


def minute_by_minute(
    runs: list[PastRun], created: list[int], present: dict[str, float]
) -> list[float]:
    """Return the same by checking every device in every minute: slow but simple."""
    devices = list(dict.fromkeys(run.device for run in runs))
    begins = {name: min(run.started for run in runs if run.device == name) for name in devices}
    leaves = {name: max(run.ended for run in runs if run.device == name) for name in devices}
    leaves.update(present)
    ends = [inf] * len(runs)
    busy_until = dict(begins)
    turn = len(created) - 1
    for minute in range(500):
        for device in devices:
            if minute < busy_until[device] or minute >= leaves[device]:
                continue
            for step in range(1, len(created) + 1):
                study = (turn + step) % len(created)
                pending = [
                    index
                    for index, run in enumerate(runs)
                    if run.study == study and ends[index] == inf
                ]
                if pending and created[study] <= minute:
                    run = runs[pending[0]]
                    ends[pending[0]] = busy_until[device] = minute + run.ended - run.started
                    turn = study
                    break
    return ends


@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_minute_by_minute(seed: int) -> None:
    rng = np.random.default_rng(seed)
    created = sorted(rng.integers(0, 20, rng.integers(1, 6)).tolist())
    devices = [f"d{number}" for number in range(rng.integers(1, 4))]
    runs = []
    for _ in range(rng.integers(1, 30)):
        start, length = rng.integers(0, 60), rng.integers(1, 12)
        study, device = rng.integers(len(created)), devices[rng.integers(len(devices))]
        runs.append(PastRun(int(study), device, float(start), float(start + length)))
    runs.sort(key=lambda run: run.started)
    present = {name: 300.0 for name in devices if rng.random() < 0.5}
    found = served_in_turn(runs, created, present)
    assert found == minute_by_minute(runs, created, present)


def test_it_yields_regularly() -> None:
    yields: list[None] = []
    runs = [PastRun(0, "d", float(turn), turn + 1.0) for turn in range(1000)]
    ends = served_in_turn(runs, [0.0], {}, lambda: yields.append(None))
    assert ends == [run.ended for run in runs]
    assert len(yields) == 3


def run_without_idle_time(
    service: Service, studies: dict[str, dict[str, float]], devices: int = 2
) -> None:
    """Run all models of the studies without idle time; each takes exactly its cost."""
    tenant, runner = service.tenant("a"), service.token("device")
    for name, models in studies.items():
        service.study(tenant, name, models)
    free = [(service.clock.now, f"gpu-{number}") for number in range(devices)]
    for _, device in free:
        service.device(device, runner)
    running: dict[str, tuple[float, dict[str, int]]] = {}
    rng = np.random.default_rng(1)
    while free or running:
        for _, device in free:
            lease = service.lease(runner, device)
            if lease is not None:
                cost = studies[lease["study_name"]][lease["model"]]
                running[device] = service.clock.now + cost, lease
        if running:
            device = min(running, key=lambda name: running[name][0])
            end, lease = running.pop(device)
            service.clock.set(end)
            free = [(end, device)]
            service.report(runner, lease, score=float(rng.random())).ok()
        else:
            free = []


MODELS = {f"m{number}": 1.0 + number for number in range(6)}


@pytest.mark.parametrize("devices", [1, 3])
def test_with_one_study_round_robin_is_the_same(service: Service, devices: int) -> None:
    run_without_idle_time(service, {"one": MODELS}, devices)
    pool = service.pool
    (study,) = pool.studies.values()
    trials = list(pool.trials.values())
    replay = replayed(trials, {})
    assert replay is not None
    assert replay.improvements == {study.id: study.improvements}
    shown = service.get("/v1/trend")
    assert len(study.improvements) > 1
    assert shown["round_robin"] == shown["regret"]
    assert shown["regret"][0] > shown["regret"][-1]
    if devices == 1:  # earlier trials are not replayed
        replay = replayed(trials[3:], {}, trials[:3])
        assert replay is not None
        assert replay.improvements == {study.id: study.improvements}


def test_studies_over_the_same_data_share_scores(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    one = service.study(tenant, "one", ["m0", "m1"], dataset="d")
    service.report(device, service.lease(device), score=0.3).ok()
    service.clock.advance(5.0)
    other = service.study(tenant, "other", ["m0", "m1"], dataset="d")
    other_created = service.clock.now
    lease = service.lease(device)
    service.clock.advance(2.0)
    service.report(device, lease, score=0.6).ok()
    trials = list(service.pool.trials.values())
    replay = replayed(trials, {"gpu": service.clock.now})
    assert replay is not None
    # The first took no time; the second could have started at once.
    first = trials[0].started
    assert replay.improvements[one] == [(first, 0.3), (first + 2.0, 0.6)]
    assert replay.improvements[other] == [(other_created, 0.3), (other_created, 0.6)]


def test_failed_trials_take_time(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    study = service.study(tenant, models=1)
    assert replayed([], {}) is None
    assert service.get("/v1/trend")["round_robin"] is None
    lease = service.lease(device)
    service.clock.advance(4.0)
    service.report(device, lease, "fail", reason="memory").ok()
    lease = service.lease(device)
    running = replayed(list(service.pool.trials.values()), {})
    assert running is not None
    assert running.improvements == {}
    service.clock.advance(1.0)
    service.report(device, lease, score=0.5).ok()
    replay = replayed(list(service.pool.trials.values()), {})
    assert replay is not None
    assert replay.improvements == {study: [(service.clock.now, 0.5)]}


def test_trials_before_the_latest_are_not_replayed() -> None:
    """Finished studies keep their results, and running trials end as they did."""
    story = Story()
    story.devices(2)
    story.study("done", {"good": 1.0})
    story.study("late", COSTS)
    first, running = story.start("gpu-0"), story.start("gpu-1")
    story.now = 10.0
    story.end(first, 0.9)
    last = story.start("gpu-0")
    story.now = 15.0
    story.end(running, 0.5)
    story.now = 50.0
    story.end(last, 0.6)
    pool = story.pool
    studies, trials = pool.studies.values(), list(pool.trials.values())
    assert [trial.study.id for trial in trials] == ["done", "late", "late"]
    replay = replayed(trials[2:], {}, trials[:2])
    assert replay is not None
    assert {study.id: replay.of(study) for study in studies} == {
        "done": [(10.0, 0.9)],
        "late": [(15.0, 0.5), (50.0, 0.6)],
    }
    shown = trend_view(pool, Scope(pool, SERVER), Estimates(), 50.0, None, 6, replay)
    assert shown["round_robin"] == shown["regret"]


def test_it_is_renewed_at_intervals() -> None:
    now = [100.0]
    with serving() as service:
        replays = Replays(lambda: now[0])
        pool, leases = service.pool, service.engine.working.leases
        first = replays.renew(pool, leases, service.clock.now)
        assert first is not None  # the first one: wait for it
        first.result(10.0)
        assert replays.of(pool) is None
        run_without_idle_time(service, {"one": MODELS})
        waiting = replays.renew(pool, leases, service.clock.now)
        assert waiting is first  # too early
        now[0] += 2.0
        second = replays.renew(pool, leases, service.clock.now)
        assert second is not None
        second.result(10.0)
        latest = replays.of(pool)
        assert latest is not None
        now[0] += 2.0
        assert replays.renew(pool, leases, service.clock.now) is None
        assert replays.of(pool) is latest  # nothing has changed
        service.restart()
        assert replays.of(service.pool) is None  # a replay of another log is not used
        replays.close()
