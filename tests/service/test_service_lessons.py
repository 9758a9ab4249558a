"""Regression tests for bugs found in reviews."""

import asyncio
import time
from typing import Any

import pytest
from support.problems import small_prior
from support.service_app import FakeClock, Service

from bentham.core import Change, Scheduler
from bentham.errors import StorageUnavailable
from bentham.http.middleware import RequestLimits
from bentham.service.engine import clock as clocks
from bentham.service.fold.keys import Keys
from bentham.storage import MemoryDatabase, MemoryLog, Record


class TestLead:
    def test_a_regained_lead_starts_from_the_log(self) -> None:
        database = MemoryDatabase()
        service = Service(lambda: MemoryLog(database))
        other = MemoryLog(database)
        database.leader = None
        assert other.lead()
        (last,) = other.read(after=other.head() - 1)
        body = '{"name":"elsewhere","weight":1.0,"limits":{}}'
        other.append(
            [
                Record(
                    last.sequence + 1,
                    last.time,
                    "tenant-created",
                    1,
                    "x",
                    "",
                    "elsewhere",
                    "",
                    body,
                )
            ]
        )
        other.close()
        service.clock.advance(1.0)
        service.until(lambda: service.engine.ready and "elsewhere" in service.pool.tenants)
        assert [each["name"] for each in service.get("/v1/tenants")["items"]] == ["elsewhere"]
        service.close()

    def test_streams_do_not_skip_events_of_another_leader(self) -> None:
        database = MemoryDatabase()
        service = Service(lambda: MemoryLog(database))
        service.tenant("a")
        service.engine._forget()
        _, missed = service.engine.feeds.subscribe(None, 2)
        assert missed is None
        service.close()

    def test_a_log_that_cannot_be_read_ends_the_server(self) -> None:
        database = MemoryDatabase()
        service = Service(lambda: MemoryLog(database))
        service.stop()
        log = MemoryLog(database)
        log.lead()
        head = log.head() + 1
        log.append([Record(head, 1e12, "tenant-created", 99, "x", "", "", "", "{}")])
        log.close()
        ended: list[bool] = []

        async def start() -> None:
            service.engine = type(service.engine)(
                MemoryLog(database), service.engine.settings, service.clock
            )
            service.engine.fail = lambda: ended.append(True)
            service.engine.start()
            while not ended:
                await asyncio.sleep(0.001)
            await service.engine.stop()

        service.run(start())
        assert "version 99" in service.engine.failure
        service.close()


class TestLeases:
    def test_an_outage_longer_than_leases_loses_no_trial(self) -> None:
        database, broken = MemoryDatabase(), [False]

        class Log(MemoryLog):
            def append(self, records: Any) -> None:
                if broken[0]:
                    raise StorageUnavailable("gone; retry")
                super().append(records)

        service = Service(lambda: Log(database))
        service.study(service.tenant("a"))
        device = service.device()
        lease = service.lease(device)
        broken[0] = True
        service.post("/v1/tenants", {"name": "b"}).refused(503)
        service.clock.advance(40.0)
        service.report(device, lease, "heartbeat").refused(503)
        broken[0] = False
        service.until(lambda: service.engine.ready)
        assert service.report(device, lease, score=1.0).ok()["state"] == "complete"
        service.close()

    def test_a_lease_request_can_be_retried_after_many_other_keys(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bentham.service.fold.keys.MOST", 2)
        service.study(service.tenant("a"))
        device = service.device()
        lease = service.lease(device, key="ask")
        for number in range(5):
            service.post("/v1/devices", {"name": f"other-{number}"}, device, key=f"k{number}").ok(
                201
            )
        assert service.pool.keys.find("x", "y") is None
        assert service.lease(device, key="ask") == lease
        assert isinstance(service.pool.keys, Keys)

    def test_a_name_is_free_once_its_token_has_expired(self, service: Service) -> None:
        old = service.token("device", expires_in=10.0)
        service.device("gpu", old)
        service.post("/v1/devices", {"name": "gpu"}, service.token("device")).refused(409)
        service.clock.advance(11.0)
        service.post("/v1/devices", {"name": "gpu"}, service.token("device")).ok(201)

    def test_waiting_devices_share_one_empty_decision(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.tenant("a")
        device = service.device("d0")
        for number in range(1, 20):
            service.device(f"d{number}", device)
        decisions: list[object] = []
        decide = Scheduler.decide

        def counted(scheduler: Scheduler, *arguments: Any) -> Any:
            decisions.append(arguments)
            return decide(scheduler, *arguments)

        monkeypatch.setattr(Scheduler, "decide", counted)
        for number in range(20):
            assert service.lease(device, f"d{number}") is None
        assert len(decisions) == 1


class TestStudies:
    def test_keys_of_requests_that_changed_nothing_are_stored(self, service: Service) -> None:
        tenant = service.tenant("a")
        study = service.study(tenant)
        service.post(f"/v1/studies/{study}/pause", None, tenant).ok()
        service.post(f"/v1/studies/{study}/pause", None, tenant, key="K").ok()
        service.post(f"/v1/studies/{study}/resume", None, tenant).ok()
        again = service.post(f"/v1/studies/{study}/pause", None, tenant, key="K").ok()
        assert again["state"] == "open"
        service.restart()
        assert service.post(f"/v1/studies/{study}/pause", None, tenant, key="K").ok() == again

    def test_expected_gain_waits_for_running_trials(self, service: Service) -> None:
        tenant = service.tenant("a")
        study = service.study(tenant, models=2, stop={"expected_gain": 1e-9})
        one, two = service.device("one"), service.device("two")
        first, second = service.lease(one, "one"), service.lease(two, "two")
        service.report(one, first, score=1.0).ok()
        assert service.get(f"/v1/studies/{study}")["state"] == "open"
        service.report(two, second, score=0.5).ok()
        assert service.get(f"/v1/studies/{study}")["state"] == "closed"

    def test_studies_of_one_dataset_are_bounded(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bentham.service.commands.studies.MOST_STUDIES_OF_DATASET", 2)
        monkeypatch.setattr("bentham.service.commands.studies.MOST_ARMS_OF_TENANT", 10)
        tenant = service.tenant("a")
        for name in "xy":
            service.study(tenant, name, dataset="d")
        body = {"name": "z", "models": ["m0"], "dataset": "d"}
        service.post("/v1/studies", body, tenant).refused(409, "dataset")
        many = {"name": "z", "models": [f"m{model}" for model in range(9)]}
        service.post("/v1/studies", many, tenant).refused(409, "close some")


class TestOthers:
    def test_a_tenants_stream_does_not_contain_fences(self, service: Service) -> None:
        for name in ("a", "b"):
            service.study(service.tenant(name), models=1)
        device = service.device()
        service.run_all(device, "gpu", lambda _: 0.5)
        token = service.token("tenant", tenant="b")
        stream = service.begin("GET", "/v1/events", token=token, headers={"last-event-id": "0"})
        service.until(lambda: b"trial-completed" in stream.answer.body)
        assert b"fence" not in stream.answer.body
        stream.hang_up()
        service.finish(stream)

    def test_forged_tokens_do_not_use_up_the_rate_limit(self) -> None:
        database = MemoryDatabase()
        service = Service(
            lambda: MemoryLog(database), bounds=RequestLimits(requests_per_second=5.0)
        )
        victim = service.admin
        forged = victim[:-64] + "0" * 64
        for _ in range(20):
            assert service.request("GET", "/v1/tenants", token=forged).status in (401, 429)
        assert service.request("GET", "/v1/tenants", token=forged).status == 429
        service.get("/v1/tenants")
        service.close()

    def test_lists_of_a_tenant_do_not_search_all_trials(self, service: Service) -> None:
        tenant, other = service.tenant("a"), service.tenant("b")
        service.study(other, models=2)
        device = service.device()
        service.run_all(device, "gpu", lambda _: 0.5)
        service.pool.trials.clear()  # the list of all trials must not be searched
        assert service.get("/v1/trials", tenant)["items"] == []
        assert len(service.get("/v1/trials", other)["items"]) == 2
        assert len(service.get("/v1/trials", device)["items"]) == 2


class TestClock:
    def test_jumps_of_the_system_clock_are_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake = FakeClock()
        monkeypatch.setattr(time, "time", fake.time)
        monkeypatch.setattr(time, "monotonic", fake.instant)
        clock = clocks.SystemClock()
        fake.advance(100.0)
        assert clock.time() == fake.now
        fake.now += 3e8  # ten years
        fake.advance(1.0)
        assert clock.time() == pytest.approx(fake.now - 3e8)
        fake.now -= 3e8
        assert clock.time() == fake.now
        fake.now += 30.0  # a correction
        assert clock.time() == fake.now


class TestChanges:
    MODELS = tuple(f"m{model}" for model in range(6))

    def scheduler(self, patience: int | None, **studies: float) -> Scheduler:
        scheduler = Scheduler(small_prior(6), "mdmt", warm_start="none", patience=patience)
        for name, cost in studies.items():
            costs = dict.fromkeys(self.MODELS, cost)
            scheduler.add_study(name, costs, dataset=f"{name}/d", tenant=name, floor=-1.0)
        scheduler.add_device(0)
        return scheduler

    @pytest.mark.parametrize("weight", [3.0, 0.7, 5.0, 1.1])
    def test_weights_are_reported_for_otherwise_equal_studies(self, weight: float) -> None:
        for seed in range(20):
            costs = {
                model: 0.5 + (seed * 7 + number * 3) % 8 for number, model in enumerate("abcd")
            }
            decided = []
            for heavy in (weight, 1.0):
                scheduler = Scheduler(warm_start="none")
                scheduler.add_study("one", costs, tenant="one", floor=-seed / 20)
                scheduler.add_study("two", costs, tenant="two", floor=-seed / 20, weight=heavy)
                scheduler.add_device(0)
                decided.append(scheduler.decide(0))
            weighted, plain = decided
            assert weighted is not None
            assert plain is not None
            changed = (weighted.study, weighted.model) != (plain.study, plain.model)
            assert [change.rule for change in weighted.changes] == ["weights"] * changed

    def test_a_limit_is_reported_if_it_changes_the_guarded_study(self) -> None:
        scheduler = self.scheduler(6, a=1.0, c=1e6)
        for _ in range(20):
            free, barred = scheduler.decide(0), scheduler.decide(0, {"c": "running-trials"})
            assert free is not None
            assert barred is not None
            if free.study == "c":
                break
            scheduler.ask(0)
            scheduler.tell(free.trial, -5.0)
        assert free is not None
        assert barred is not None
        assert free.reason == "starvation-guard"
        assert [_rule(change) for change in barred.changes] == [("running-trials", "c")]

    def test_a_limit_is_not_reported_if_the_guarded_study_is_the_same(self) -> None:
        scheduler = self.scheduler(8, a=1.0, b=10.0, c=1e6)
        for _ in range(20):
            free, barred = scheduler.decide(0), scheduler.decide(0, {"a": "running-trials"})
            assert free is not None
            assert barred is not None
            if free.study == barred.study == "c":
                break
            scheduler.ask(0)
            scheduler.tell(free.trial, -5.0)
        assert free is not None
        assert barred is not None
        assert (free.study, free.model) == (barred.study, barred.model)
        assert [change.rule for change in barred.changes] == ["starvation-guard"]

    def test_memory_is_proportional_to_the_number_of_tenants(self) -> None:
        scheduler = Scheduler()
        for number in range(300):
            scheduler.add_study(f"s{number}", {"m": 1.0}, tenant=f"t{number}")
        scheduler.add_device(0)
        assert scheduler.decide(0) is not None
        fields = scheduler._policy._ranking._fields  # type: ignore[attr-defined]
        assert sum(field._tournament._capacity for field in fields) == 300


def _rule(change: Change) -> tuple[str, str]:
    return change.rule, change.instead.study
