"""Fairness and stop rules of the service: weights, limits, patience, deadlines, pauses."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.service_app import DAY, NOON, Service, serving

from bentham.core import SharedPrior
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
        used = service.get("/v1/tenants/one")  # both include the running trial
        assert (used["device_seconds_today"], used["device_seconds"]) == (15.0, 35.0)
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


class TestNegligibleGains:
    """A study whose baseline is known ends by default when nothing left is worth running."""

    @pytest.fixture
    def clear(self) -> Iterator[Service]:
        """A service that is sure of the scores: m0 is by far the best."""
        means = [1.0, -9.0, -9.0, -9.0]
        prior = SharedPrior([f"m{n}" for n in range(4)], means, 0.01 * np.eye(4))
        with serving(first=PoolCreated("joint", "none", 0, 3, 1.0, prior.describe())) as service:
            yield service

    def begin(self, service: Service, **more: Any) -> tuple[str, str, dict[str, tuple[str, Any]]]:
        """Create a study, lease two trials and complete the good one."""
        token = service.tenant("a")
        study = service.study(token, models=4, floor=0.0, **more)
        devices = {name: service.device(name) for name in ("a", "b")}
        leases = {name: service.lease(secret, name) for name, secret in devices.items()}
        assert leases["a"]["model"] == "m0"
        service.report(devices["a"], leases["a"], score=1.0).ok()
        return token, study, {name: (devices[name], leases[name]) for name in devices}

    def test_it_starts_no_more_trials_and_then_closes(self, clear: Service) -> None:
        token, study, devices = self.begin(clear)
        assert clear.get(f"/v1/studies/{study}")["stop"]["gain_share"] == 0.001
        assert clear.lease(devices["a"][0], "a") is None
        shown = clear.get(f"/v1/studies/{study}")
        assert (shown["state"], shown["untried"]) == ("open", 2)
        following = clear.get(f"/v1/studies/{study}/next", token)
        assert following["model"] is None
        assert "less than 0.1 % of the 1 gained over the baseline" in following["reason"]
        clear.report(*devices["b"], score=-9.0).ok()
        shown = clear.get(f"/v1/studies/{study}")
        assert shown["state"] == "closed"
        assert shown["reason"].endswith("less than 0.1 % of the 1 gained over the baseline")
        clear.restart()
        assert clear.get(f"/v1/studies/{study}") == shown

    def test_it_closes_without_an_event_that_makes_it_close(self, clear: Service) -> None:
        _, study, devices = self.begin(clear)
        device, lease = devices["b"]
        clear.report(device, lease, "release").ok()
        assert clear.get(f"/v1/studies/{study}")["state"] == "open"
        clear.clock.advance(1.0)
        assert clear.get(f"/v1/studies/{study}")["state"] == "closed"

    def test_exhausting_runs_every_model(self, clear: Service) -> None:
        _, study, devices = self.begin(clear, stop={"gain_share": 0.0})
        clear.report(*devices["b"], score=-9.0).ok()
        while (lease := clear.lease(devices["a"][0], "a")) is not None:
            clear.report(devices["a"][0], lease, score=-9.0).ok()
        shown = clear.get(f"/v1/studies/{study}")
        assert (shown["reason"], shown["untried"]) == ("every model was tried", 0)

    def test_it_can_be_reopened(self, clear: Service) -> None:
        token, study, devices = self.begin(clear, stop={"trials": 3})
        clear.report(*devices["b"], score=-9.0).ok()
        path = f"/v1/studies/{study}/reopen"
        clear.post(path, {"stop": {"deadline": NOON}}, token).refused(422, "deadline")
        opened = clear.post(path, None, token).ok()
        assert (opened["state"], opened["reason"]) == ("open", "")
        assert opened["stop"] == {"gain_share": 0.0}
        assert clear.pool.studies[study].closed is None  # else trends leave it out from then on
        clear.post(path, None, token).refused(409, "the study is open")
        clear.restart()
        assert clear.get(f"/v1/studies/{study}") == opened
        for _ in range(2):
            lease = clear.lease(devices["a"][0], "a")
            clear.report(devices["a"][0], lease, score=2.0).ok()
        shown = clear.get(f"/v1/studies/{study}")
        assert (shown["reason"], shown["incumbent"]["score"]) == ("every model was tried", 2.0)
        clear.post(path, None, token).refused(409, "every model of the study was tried")

    def test_a_study_closed_by_request_keeps_its_rules(self, clear: Service) -> None:
        token, study, _ = self.begin(clear, stop={"trials": 3})
        rules = clear.get(f"/v1/studies/{study}")["stop"]
        clear.post(f"/v1/studies/{study}/close", None, token).ok()
        assert clear.post(f"/v1/studies/{study}/reopen", None, token).ok()["stop"] == rules
        clear.post(f"/v1/studies/{study}/close", None, token).ok()
        body = {"stop": {"cost": 9.0}}
        assert clear.post(f"/v1/studies/{study}/reopen", body, token).ok()["stop"] == {"cost": 9.0}

    def test_a_reopened_study_counts_scores_that_arrived_meanwhile(self, clear: Service) -> None:
        token, study, devices = self.begin(clear)
        clear.report(*devices["b"], score=-9.0).ok()
        other = clear.study(token, "other", 4, dataset="s", floor=0.0, stop={"gain_share": 0.0})
        lease = clear.lease(devices["a"][0], "a")
        assert lease["study"] == other
        clear.report(devices["a"][0], lease, score=5.0).ok()
        assert clear.get(f"/v1/studies/{study}")["incumbent"]["score"] == 1.0
        opened = clear.post(f"/v1/studies/{study}/reopen", None, token).ok()
        assert opened["incumbent"]["score"] == 5.0

    def test_without_a_baseline_there_is_no_such_rule(self, service: Service) -> None:
        study = service.study(service.tenant("a"))
        assert service.get(f"/v1/studies/{study}")["stop"] == {}

    @pytest.mark.outside
    def test_the_highest_possible_score_ends_a_study(self, service: Service) -> None:
        token, device = service.tenant("a"), service.device()
        study = service.data_study(token)["id"]
        service.report(device, service.lease(device), score=1.0).ok()
        shown = service.get(f"/v1/studies/{study}")
        assert (shown["state"], shown["untried"]) == ("closed", 1)
        assert shown["reason"] == "the best score is the highest possible"

    @pytest.mark.outside
    def test_a_study_whose_dataset_was_dropped_is_not_reopened(self, service: Service) -> None:
        token = service.tenant("a")
        made = service.data_study(token)
        study, dataset = made["id"], made["training"]["dataset"]
        service.post(f"/v1/studies/{study}/close", None, token).ok()
        service.request("DELETE", f"/v1/datasets/{dataset}", token=token).ok()
        path = f"/v1/studies/{study}/reopen"
        service.post(path, None, token).refused(409, "was dropped; upload the same file again")
        again = service.dataset(token)["id"]
        assert service.post(path, None, token).ok()["state"] == "open"
        assert again != dataset
        dropped = service.request("DELETE", f"/v1/datasets/{again}", token=token)
        dropped.refused(409, "close it first")


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
