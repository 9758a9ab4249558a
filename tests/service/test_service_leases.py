"""Every trial gives at most one observation: leases, fences, losses, late and repeated reports."""

from typing import Any

import pytest
from support.service_app import Service

from bentham.core import Belief


@pytest.fixture
def tenant(service: Service) -> str:
    return service.tenant("a")


@pytest.fixture
def device(service: Service) -> str:
    return service.device()


def beliefs(service: Service) -> dict[str, dict[str, Belief]]:
    """Return the beliefs about all served studies."""
    scheduler = service.pool.scheduler
    return {study: scheduler.beliefs(study) for study in scheduler.studies}


def state(service: Service, lease: Any) -> tuple[str, str]:
    trial = service.get(f"/v1/trials/{lease['trial']}")
    return trial["state"], trial["reason"]


class TestLeases:
    def test_content_of_a_lease(self, service: Service, tenant: str, device: str) -> None:
        study = service.study(tenant, "wine", {"svm": 30.0}, dataset="w", metric="accuracy")
        lease = service.lease(device)
        assert len(lease.pop("trial")) == 18
        assert lease == {
            "fence": 0, "device": "gpu", "tenant": "a", "study": study, "study_name": "wine",
            "dataset": "w", "metric": "accuracy", "model": "svm", "cost": 30.0, "attempt": 1,
            "lease_seconds": 30.0, "heartbeat_seconds": 10.0, "algorithm": "",
            "configuration": {}, "training": None, "purpose": "score", "look_above": None,
            "recorded": None,
        }  # fmt: skip

    @pytest.mark.parametrize(
        "disconnects", [True, False], ids=["disconnects", "does not disconnect"]
    )
    def test_a_dead_worker_gets_no_lease(
        self, service: Service, tenant: str, device: str, disconnects: bool
    ) -> None:
        """It died while waiting for work; its successor must not find the device busy."""
        waiting = service.begin("POST", "/v1/devices/gpu/lease", {"wait": 20.0}, device)
        service.get("/v1/devices")  # now it is waiting
        if disconnects:
            waiting.hang_up()
        else:
            service.device(token=device)
        service.study(tenant)
        response = service.finish(waiting)
        assert response.status == (204 if disconnects else 409)
        assert service.lease(device)["attempt"] == 1

    def test_heartbeats_renew_a_lease_and_silence_ends_it(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant)
        lease = service.lease(device)
        for _ in range(10):
            service.clock.advance(29.9)
            renewal = service.report(device, lease, "heartbeat").ok()
            assert renewal == {
                "trial": lease["trial"], "lease_seconds": 30.0, "heartbeat_seconds": 10.0,
            }  # fmt: skip
        service.clock.advance(29.9)
        assert state(service, lease) == ("running", "")
        service.clock.advance(0.35)  # leases are checked every quarter of a second
        assert state(service, lease) == ("lost", "the lease ran out")
        service.report(device, lease, "heartbeat").refused(409, "lost (the lease ran out)")

    def test_only_the_monotonic_clock_ends_a_lease(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant)
        lease = service.lease(device)
        service.clock.now += 1e6
        assert state(service, lease) == ("running", "")
        service.clock.now -= 2e6
        assert state(service, lease) == ("running", "")
        service.clock.moment += 30.25
        assert state(service, lease) == ("lost", "the lease ran out")

    def test_an_arm_fails_after_three_losses(
        self, service: Service, tenant: str, device: str
    ) -> None:
        study = service.study(tenant, models=1)
        for attempt in (1, 2, 3):
            lease = service.lease(device)
            assert (lease["model"], lease["attempt"]) == ("m0", attempt)
            service.clock.advance(31.0)
        assert service.lease(device) is None
        shown = service.get(f"/v1/studies/{study}", tenant)
        assert (shown["state"], shown["reason"]) == ("closed", "every model failed")
        assert shown["trials"] == {"running": 0, "complete": 0, "failed": 0, "lost": 3}
        (candidate,) = service.get(f"/v1/studies/{study}/candidates", tenant)["items"]
        assert candidate["state"] == "failed"

    def test_a_failed_arm_is_retried_unless_the_failure_is_final(
        self, service: Service, tenant: str, device: str
    ) -> None:
        study = service.study(tenant, models=1)
        again = service.lease(device)
        failed = service.report(device, again, "fail", reason="a\nb\0").ok()
        assert (failed["state"], failed["reason"], failed["score"]) == ("failed", "a\nb", None)
        final = service.lease(device)
        assert (final["model"], final["attempt"]) == ("m0", 2)
        service.report(device, final, "fail", final=True).ok()
        assert service.lease(device) is None
        assert service.get(f"/v1/studies/{study}")["trials"]["failed"] == 2

    def test_a_released_trial_does_not_count_as_an_attempt(
        self, service: Service, tenant: str, device: str
    ) -> None:
        study = service.study(tenant, models=1)
        for _ in range(5):
            lease = service.lease(device)
            assert lease["attempt"] == 1
            released = service.report(device, lease, "release").ok()
            assert (released["state"], released["reason"]) == ("lost", "released by its device")
        assert service.get("/v1/overview")["leases_lost"] == 0
        service.report(device, service.lease(device), score=1.0).ok()
        assert service.get(f"/v1/studies/{study}")["incumbent"]["model"] == "m0"

    def test_a_busy_device_gets_no_second_lease(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant)
        lease = service.lease(device)
        service.post("/v1/devices/gpu/lease", {}, device).refused(409, lease["trial"])

    def test_nothing_to_run_is_no_content(self, service: Service, device: str) -> None:
        response = service.post("/v1/devices/gpu/lease", {}, device)
        assert (response.status, response.body) == (204, b"")


class TestReports:
    def test_late_repeated_and_wrong_reports_change_nothing(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant, models=4)
        late, done = service.lease(device), None
        service.clock.advance(31.0)
        done = service.lease(device)
        first = service.report(device, done, score=0.5).ok()
        before, head = beliefs(service), service.pool.sequence
        assert service.report(device, done, score=0.5).ok() == first
        service.report(device, done, score=0.6).refused(409, "is complete")
        service.report(device, late, score=0.9).refused(409, "lost (the lease ran out)")
        for action in ("fail", "release", "heartbeat"):
            service.report(device, done, action).refused(409, "is complete")
            service.report(device, late, action).refused(409, "lost")
        running = service.lease(device)
        before, head = beliefs(service), service.pool.sequence
        for fence in (running["fence"] - 1, running["fence"] + 1, 2**62):
            wrong = {**running, "fence": fence}
            service.report(device, wrong, score=0.9).refused(
                409, f"the fence {fence} does not match"
            )
            for action in ("fail", "release", "heartbeat"):
                service.report(device, wrong, action).refused(409, "the fence")
        assert (beliefs(service), service.pool.sequence) == (before, head)
        service.report(device, running, score=0.7).ok()
        assert beliefs(service) != before

    def test_a_score_reaches_every_study_of_the_dataset_within_its_tenant_only(
        self, service: Service, tenant: str, device: str
    ) -> None:
        other = service.tenant("b")
        one = service.study(tenant, "one", 1, dataset="shared")
        two = service.study(tenant, "two", {"m0": 1.0, "m1": 1.0}, dataset="shared")
        theirs = service.study(other, "one", 1, dataset="shared")
        leases = service.run_all(device, "gpu", lambda lease: 0.5 + lease["fence"])
        # The arm m0 ran once for both studies of the tenant, and once for the other tenant.
        assert sorted((each["tenant"], each["model"]) for each in leases) == [
            ("a", "m0"), ("a", "m1"), ("b", "m0"),
        ]  # fmt: skip
        scores = {(each["tenant"], each["model"]): 0.5 + each["fence"] for each in leases}
        best = {study: service.get(f"/v1/studies/{study}")["incumbent"] for study in (one, theirs)}
        assert best[one]["score"] == scores["a", "m0"]
        assert best[theirs]["score"] == scores["b", "m0"]
        own = max(scores["a", "m0"], scores["a", "m1"])
        assert service.get(f"/v1/studies/{two}")["incumbent"]["score"] == own
        late = service.study(tenant, "late", 1, dataset="shared")
        shown = service.get(f"/v1/studies/{late}")
        assert (shown["state"], shown["incumbent"]) == ("closed", best[one])


class TestDevices:
    def test_registering_again_loses_the_trial(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant)
        lease = service.lease(device)
        service.device("gpu", device, kind="new")
        assert state(service, lease) == ("lost", "the device registered again")
        assert service.lease(device)["attempt"] == 2
        service.report(device, lease, score=1.0).refused(409)

    def test_leaving_loses_the_trial(self, service: Service, tenant: str, device: str) -> None:
        service.study(tenant)
        lease = service.lease(device)
        service.post("/v1/devices/gpu/leave", None, device).ok()
        assert state(service, lease) == ("lost", "the device left")
        service.post("/v1/devices/gpu/lease", {}, device).refused(404, "register it first")
        assert service.get("/v1/devices") == {"items": [], "next": None}

    def test_devices_of_a_revoked_token_leave_at_once(
        self, service: Service, tenant: str, device: str
    ) -> None:
        service.study(tenant)
        lease, other = service.lease(device), service.device("other")
        name = device.split("_")[1]
        revoked = service.request("DELETE", f"/v1/tokens/{name}").ok()
        assert revoked["revoked"] == service.clock.now
        assert state(service, lease) == ("lost", "its token was revoked")
        assert [each["name"] for each in service.get("/v1/devices")["items"]] == ["other"]
        service.report(device, lease, score=1.0).refused(401, "revoked")
        assert service.lease(other, "other")["attempt"] == 2
        # Once more changes nothing, and the last admin's token cannot be revoked.
        head = service.pool.sequence
        assert service.request("DELETE", f"/v1/tokens/{name}").ok() == revoked
        admin = service.admin.split("_")[1]
        service.request("DELETE", f"/v1/tokens/{admin}").refused(409, "the last valid token")
        assert service.pool.sequence == head

    def test_an_expired_token(self, service: Service, tenant: str) -> None:
        token = service.token("device", expires_in=100.0)
        service.study(tenant)
        service.device("gpu", token)
        lease = service.lease(token)
        service.clock.advance(29.0)
        service.report(token, lease, "heartbeat").ok()
        service.clock.advance(71.0)
        service.report(token, lease, score=1.0).refused(401, "expired")
        assert state(service, lease) == ("lost", "the lease ran out")

    def test_a_silent_device_leaves(self, service: Service, device: str) -> None:
        assert service.lease(device) is None
        service.clock.advance(3599.0)
        assert len(service.get("/v1/devices")["items"]) == 1
        assert service.lease(device) is None  # shows that it is alive
        service.clock.advance(3599.0)
        assert len(service.get("/v1/devices")["items"]) == 1
        service.clock.advance(1.0)
        assert service.get("/v1/devices")["items"] == []

    def test_busy_time_of_a_device(self, service: Service, tenant: str, device: str) -> None:
        service.study(tenant)
        lease = service.lease(device)
        service.clock.advance(12.5)
        busy = service.get("/v1/devices/gpu")
        assert (busy["state"], busy["trial"], busy["busy_seconds"]) == ("busy", lease["trial"], 0.0)
        service.report(device, lease, score=0.1).ok()
        idle = service.get("/v1/devices/gpu")
        assert (idle["state"], idle["trial"], idle["busy_seconds"]) == ("idle", None, 12.5)
        assert idle["seen"] == service.clock.now
