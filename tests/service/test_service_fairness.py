"""Fairness and stop rules of the service: weights, limits, patience, deadlines, pauses."""

from typing import Any

from support.service_app import DAY, NOON, Service, serving

from bentham.service.fold.events import PoolCreated


def decision(service: Service, lease: Any) -> Any:
    return service.get(f"/v1/decisions/{lease['trial']}")


def rules(service: Service, lease: Any) -> list[str]:
    return [change["rule"] for change in decision(service, lease)["changes"]]


class TestWeights:
    def test_a_weight_is_reported_only_if_it_changed_the_decision(self, service: Service) -> None:
        service.tenant("light")
        heavy = service.tenant("heavy", weight=100.0)
        light = service.token("tenant", tenant="light")
        first = service.study(light, "first", {"m0": 1.0, "m1": 1.0})
        second = service.study(heavy, "second", {"m0": 1.0, "m1": 1.0})
        one, two, three = (service.device(name) for name in ("one", "two", "three"))
        lease = service.lease(one, "one")
        assert lease["study"] == second
        (change,) = decision(service, lease)["changes"]
        assert (change["rule"], change["instead"]["study"]) == ("weights", first)
        service.request("PATCH", "/v1/tenants/heavy", {"weight": 1.0}).ok()
        service.request("PATCH", "/v1/tenants/light", {"weight": 100.0}).ok()
        lease = service.lease(two, "two")
        assert (lease["study"], rules(service, lease)) == (first, [])
        service.post(f"/v1/studies/{first}/pause", None, light).ok()
        lease = service.lease(three, "three")
        assert (lease["study"], rules(service, lease)) == (second, [])

    def test_a_resumed_study_has_the_changed_weight(self, service: Service) -> None:
        token = service.tenant("a")
        study = service.study(token, weight=3.0)
        service.post(f"/v1/studies/{study}/pause", None, token).ok()
        service.request("PATCH", "/v1/tenants/a", {"weight": 2.0}).ok()
        service.post(f"/v1/studies/{study}/resume", None, token).ok()
        lease = service.lease(service.device())
        (gain,) = decision(service, lease)["gains"]
        assert gain["weight"] == 6.0

    def test_a_weight_too_small_is_refused(self, service: Service) -> None:
        token = service.tenant("a")
        studies = [service.study(token, f"s{n}", weight=w) for n, w in enumerate((1.0, 1e-6))]
        response = service.request("PATCH", "/v1/tenants/a", {"weight": 5e-324})
        assert response.status == 422
        lease = service.lease(service.device())
        assert lease["study"] == studies[0]
        assert decision(service, lease)["gains"][0]["weight"] == 1.0
        service.restart()
        assert service.get("/v1/tenants/a")["weight"] == 1.0


class TestLimits:
    def test_limit_on_running_trials(self, service: Service) -> None:
        one = service.tenant("one", limits={"running_trials": 1}, weight=100.0)
        other = service.tenant("other")
        mine, theirs = service.study(one, models=5), service.study(other, models=5)
        a, b, c = (service.device(name) for name in ("a", "b", "c"))
        first = service.lease(a, "a")
        assert (first["study"], rules(service, first)) == (mine, [])
        second = service.lease(b, "b")
        assert second["study"] == theirs
        (change, *_) = decision(service, second)["changes"]
        assert (change["rule"], change["instead"]["study"]) == ("running-trials", mine)
        # The limit of another tenant is not shown.
        own = service.get(f"/v1/decisions/{second['trial']}", other)
        assert own["changes"] == []
        service.report(a, first, score=0.5).ok()
        assert service.lease(a, "a")["study"] == mine
        service.post(f"/v1/studies/{theirs}/pause", None, other).ok()
        assert service.lease(c, "c") is None
        service.request("PATCH", "/v1/tenants/one", {"limits": {}}).ok()
        assert service.lease(c, "c")["study"] == mine

    def test_device_time_is_counted_per_utc_day(self, service: Service) -> None:
        one = service.tenant("one", limits={"device_seconds_per_day": 100.0}, weight=100.0)
        other = service.tenant("other")
        mine, theirs = service.study(one, models=9), service.study(other, models=9)
        midnight = (NOON // DAY + 1.0) * DAY
        service.clock.set(midnight - 20.0)
        device = service.device()
        across = service.lease(device)
        assert across["study"] == mine
        service.clock.set(midnight + 15.0)
        service.report(device, across, score=0.5).refused(409)  # the lease has expired
        assert service.get("/v1/tenants/one")["device_seconds_today"] == 15.0
        assert service.get("/v1/tenants/one")["device_seconds"] == 35.0
        for _ in range(3):
            lease = service.lease(device)
            assert lease["study"] == mine
            assert "device-time" not in rules(service, lease)
            service.clock.advance(29.0)
            service.report(device, lease, "fail", final=True).ok()  # without a score
        assert service.get("/v1/tenants/one")["device_seconds_today"] == 102.0
        lease = service.lease(device)
        assert lease["study"] == theirs
        assert "device-time" in rules(service, lease)
        service.report(device, lease, score=0.5).ok()
        service.clock.set(midnight + DAY - 1.0)
        device = service.device("new")
        lease = service.lease(device, "new")
        assert lease["study"] == theirs
        service.report(device, lease, score=0.5).ok()
        service.clock.set(midnight + DAY)
        assert service.lease(device, "new")["study"] == mine
        assert service.get("/v1/tenants/one")["device_seconds_today"] == 0.0

    def test_running_trials_count_toward_the_daily_limit(self, service: Service) -> None:
        one = service.tenant("one", limits={"device_seconds_per_day": 10.0})
        service.study(one, models=5)
        a, b = service.device("a"), service.device("b")
        service.lease(a, "a")
        service.clock.advance(9.0)
        second = service.lease(b, "b")
        service.report(b, second, score=0.1).ok()
        service.clock.advance(1.0)
        assert service.lease(b, "b") is None


class TestPatience:
    def test_the_guard_is_shown_to_operators_only(self) -> None:
        with serving(patience=6) as service:
            heavy, light = service.tenant("heavy", weight=1e6), service.tenant("light")
            service.study(heavy, models={f"m{n}": 1.0 for n in range(20)})
            waiting = service.study(light, models={f"m{n}": 1.0 for n in range(20)})
            device = service.device()
            leases = []
            for _ in range(7):
                leases.append(service.lease(device))
                service.report(device, leases[-1], "fail", final=True).ok()
            (guarded,) = [lease for lease in leases if lease["study"] == waiting]
            shown = decision(service, guarded)
            assert shown["reason"] == "starvation-guard"
            assert "starvation-guard" in [change["rule"] for change in shown["changes"]]
            own = service.get(f"/v1/decisions/{guarded['trial']}", light)
            assert (own["reason"], own["changes"]) == ("policy", [])


class TestStopRules:
    def run(self, stop: Any, seconds: float = 1.0, trials: int = 6) -> tuple[Any, int]:
        with serving(first=PoolCreated("mdmt", "none", 0, 3, 1.0)) as service:
            token, device = service.tenant("a"), service.device()
            study = service.study(token, models=trials, stop=stop)
            count = 0
            while (lease := service.lease(device)) is not None:
                count += 1
                service.clock.advance(seconds)
                service.report(device, lease, score=0.5 + 0.01 * count).ok()
            shown = service.get(f"/v1/studies/{study}")
            service.restart()
            assert service.get(f"/v1/studies/{study}") == shown
            return shown, count

    def test_trials(self) -> None:
        shown, count = self.run({"trials": 2})
        assert (shown["reason"], count) == ("stop rule: 2 trials", 2)

    def test_cost(self) -> None:
        shown, count = self.run({"cost": 5.0}, seconds=2.0)
        assert (shown["reason"], count) == ("stop rule: 5 s of device time", 3)

    def test_deadline(self) -> None:
        shown, count = self.run({"deadline": NOON + 7.5}, seconds=3.0)
        assert (shown["reason"], count) == ("stop rule: the deadline", 3)

    def test_expected_gain(self) -> None:
        shown, count = self.run({"expected_gain": 100.0})
        assert shown["reason"].startswith("stop rule: expected gain")
        assert count == 1

    def test_no_rule_is_met(self) -> None:
        shown, count = self.run({"trials": 6, "cost": 99.0, "deadline": NOON + 99.0})
        assert (shown["state"], count) == ("closed", 6)

    def test_every_model_was_tried(self) -> None:
        shown, count = self.run({})
        assert (shown["state"], shown["reason"], count) == ("closed", "every model was tried", 6)

    def test_a_deadline_closes_without_any_report(self, service: Service) -> None:
        token = service.tenant("a")
        study = service.study(token, stop={"deadline": NOON + 5.0})
        paused = service.study(token, "paused", stop={"deadline": NOON + 5.0})
        service.post(f"/v1/studies/{paused}/pause", None, token).ok()
        service.clock.advance(6.0)
        for name in (study, paused):
            assert service.get(f"/v1/studies/{name}")["state"] == "closed"
        late = {"name": "late", "models": ["m0"], "stop": {"deadline": NOON}}
        service.post("/v1/studies", late, token).refused(422, "deadline")

    def test_no_more_trials_are_started_than_the_limit(self, service: Service) -> None:
        token = service.tenant("a")
        study = service.study(token, models=5, stop={"trials": 2})
        devices = {name: service.device(name) for name in ("a", "b", "c")}
        leases = {name: service.lease(token, name) for name, token in devices.items()}
        assert leases["c"] is None
        service.report(devices["a"], leases["a"], "release").ok()
        assert service.lease(devices["c"], "c") is not None
        service.clock.advance(31.0)  # both are lost: neither counts
        assert service.lease(devices["a"], "a") is not None
        assert service.get(f"/v1/studies/{study}")["state"] == "open"


class TestPauses:
    def test_pause_resume_close(self, service: Service) -> None:
        token, device = service.tenant("a"), service.device()
        study = service.study(token, models=4)
        lease = service.lease(device)
        paused = service.post(f"/v1/studies/{study}/pause", None, token).ok()
        assert (paused["state"], paused["trials"]["running"]) == ("paused", 1)
        service.report(device, lease, score=0.5).ok()
        assert service.lease(device) is None
        assert service.get(f"/v1/studies/{study}")["incumbent"]["score"] == 0.5
        service.post(f"/v1/studies/{study}/resume", None, token).ok()
        lease = service.lease(device)
        closed = service.post(f"/v1/studies/{study}/close", None, token).ok()
        assert (closed["state"], closed["reason"]) == ("closed", "closed by request")
        service.report(device, lease, score=0.9).ok()
        assert service.get(f"/v1/studies/{study}")["incumbent"]["score"] == 0.9
        assert service.lease(device) is None
        for action in ("pause", "resume"):
            service.post(f"/v1/studies/{study}/{action}", None, token).refused(409, "is closed")
        service.post(f"/v1/studies/{study}/close", None, token).ok()
