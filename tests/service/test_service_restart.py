"""A restart replays the log: the same pool, decisions, and responses to retried requests."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.service_app import FIRST, Places, Service, serving
from support.service_story import Story, picture

from bentham.core.problem import events as core
from bentham.service.engine import engine
from bentham.service.engine.engine import Settings
from bentham.service.fold.pool import Pool
from bentham.service.fold.recovery import recover, save_snapshot
from bentham.service.views.audit import export_lines, read_lines, verify
from bentham.storage import EventLog


def read_log(service: Service, read: Callable[[EventLog], Pool]) -> Pool:
    """Read the log of a service from a separate connection."""
    log = service._make_log()
    try:
        return read(log)
    finally:
        log.close()


def following_decisions(pool: Pool, steps: int = 25) -> list[Any]:
    """Return the following decisions of a pool's scheduler, given fixed scores."""
    scheduler, decided = pool.scheduler, []
    for trial in sorted(trial.number for trial in pool.running.values()):
        scheduler.apply(core.ArmObserved(pool.time, trial, 0.5))
    scheduler.apply(core.DeviceAdded(pool.time, "another", "slow"))
    for step in range(steps):
        barred = pool.barred(pool.time) if step % 2 else {}
        decision = scheduler.decide("another", barred)
        decided.append(decision)
        if decision is not None:
            scheduler.apply(core.ArmStarted(pool.time, decision))
            score = (decision.trial * 37 % 101) / 100.0
            scheduler.apply(core.ArmObserved(pool.time + step, decision.trial, score))
    return decided


def test_restart_is_replay(places: Places) -> None:
    with serving(places.new()) as service:
        story = Story(service, 2)
        story.go_on(80)
        before, repeats = picture(service.pool), story.requests
        assert len(service.pool.trials) > 10
        service.restart()
        assert picture(service.pool) == before
        for path, body, token, key, first in repeats:
            retry = service.post(path, body, token, key=key)
            if first.status == 200 and path.endswith(("lease", "complete", "fail", "release")):
                assert (retry.status, retry.body) == (200, first.body)  # to the byte
            elif first.status < 300 and first.status != 204 and not path.endswith("leave"):
                assert retry.status in (first.status, 409)
        # No retry created a second event.
        assert [trial.id for trial in service.pool.trials.values()][: len(before["trials"])] == [
            trial["id"] for trial in before["trials"]
        ]
        story.go_on(30)
        pool = read_log(service, lambda log: recover(log, snapshots=False))
        assert picture(pool) == picture(service.pool)
        service.stop()
        assert following_decisions(pool) == following_decisions(read_log(service, recover))


def test_a_snapshot_and_its_tail_equal_the_whole_log(places: Places) -> None:
    with serving(places.new()) as service:
        story = Story(service, 3)
        story.go_on(40)
        read_log(service, lambda log: _saved(log))
        story.go_on(40)
        read_log(service, lambda log: _saved(log))
        story.go_on(40)
        complete = read_log(service, lambda log: recover(log, snapshots=False))
        tail = read_log(service, recover)
        assert picture(tail) == picture(complete) == picture(service.pool)
        service.restart()  # from the snapshot
        assert picture(service.pool) == picture(complete)
        path, body, token, key, first = next(
            request
            for request in story.requests
            if request[0].endswith("lease") and request[4].status == 200
        )
        assert service.post(path, body, token, key=key).body == first.body
        service.post(path, {"wait": 1.0}, token, key=key).refused(422, "another request")
        assert following_decisions(tail) == following_decisions(complete)


def _saved(log: EventLog) -> Pool:
    pool = recover(log)
    save_snapshot(log, pool)
    return pool


def test_a_slow_start_takes_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as service:
        for slow_seconds, snapshots in ((-1.0, 1), (2.0, 0)):  # the test's clock does not advance
            monkeypatch.setattr(engine, "SLOW_SECONDS", slow_seconds)
            service.stop()
            taken: list[int] = []
            service.start(snapshot=lambda taken=taken: taken.append(1))  # type: ignore[misc]
            assert len(taken) == snapshots


def test_a_standby_follows_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "STANDBY", 0.01)
    places = Places("memory", Path(), None).new()
    with serving(places) as leader:
        leader.study(leader.tenant("a"))
        other = engine.Engine(places(), Settings(FIRST))
        leader.run(start(other))
        leader.until(lambda: other._followed is not None)
        followed = other._followed
        leader.device()
        leader.until(lambda: followed is not None and followed.sequence == leader.pool.sequence)
        before = picture(leader.pool)
        leader.stop()
        leader.until(lambda: other.ready)
        assert other.working.pool is followed
        assert picture(other.working.pool) == before
        leader.run(other.stop())


async def start(instance: engine.Engine) -> None:
    instance.start()


def test_corrupt_snapshots_are_skipped(places: Places) -> None:
    with serving(places.new()) as service:
        Story(service, 4).go_on(40)
        complete = picture(service.pool)

        def corrupt(log: EventLog) -> Pool:
            log.save_snapshot(service.pool.sequence, b"not a snapshot")
            return recover(log)

        assert picture(read_log(service, corrupt)) == complete


def test_every_decision_of_a_story_is_reproduced(places: Places, tmp_path: Any) -> None:
    with serving(places.new(), patience=7) as service:
        Story(service, 5).go_on(120)
        service.stop()
        log = service._make_log()
        records = list(log.read())
        log.close()
    pool = Pool()
    assert [found for found in verify(records, pool) if found is not None] == []
    assert len(pool.trials) > 20
    exported = tmp_path / "log.jsonl"
    exported.write_text("".join(line + "\n" for line in export_lines(records)))
    read = list(read_lines(exported))
    assert len(read) == len(records)
    assert [found for found in verify(read, Pool()) if found is not None] == []
    # A changed decision is detected.
    index = next(at for at, record in enumerate(records) if record.kind == "trial-leased")
    forged = records[index].body.replace('"rate":', '"rate":1', 1)
    records[index] = dataclasses.replace(records[index], body=forged)
    (difference,) = [found for found in verify(records, Pool()) if found is not None]
    assert difference.sequence == records[index].sequence
    assert difference.remade is not None
    assert difference.remade.rate != difference.recorded.rate


def test_what_a_restart_changes(places: Places) -> None:
    """Running leases start again in full; patience is that of the settings."""
    with serving(places.new()) as service:
        device, tenant = service.device(), service.tenant("a")
        service.study(tenant)
        lease = service.lease(device)
        service.clock.advance(29.0)
        service.patience = 500
        service.restart()
        assert service.pool.scheduler.patience == 500
        service.clock.advance(29.0)
        service.report(device, lease, "heartbeat").ok()
        service.clock.advance(31.0)
        service.report(device, lease, "heartbeat").refused(409, "the lease ran out")
