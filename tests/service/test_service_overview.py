"""Queries for the dashboard: overview, timeline, candidates, decisions, next model, heatmap."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from support.service_app import NOON, Service, serving

from bentham.http.metrics import Metrics
from bentham.http.responses import answered, answered_in_pieces
from bentham.service.fold.events import PoolCreated
from bentham.service.views import timeline
from bentham.service.views.heatmap import short
from bentham.wording import short_number


def ended(service: Service, device: str, lease: Any, seconds: float, **report: Any) -> str:
    service.clock.advance(seconds)
    service.report(device, lease, **(report or {"score": 0.5})).ok()
    return str(lease["trial"])


class TestOverview:
    def test_the_band_and_happiness(self, service: Service) -> None:
        tenant = service.tenant("a", limits={"running_trials": 3})
        service.tenant("idle")
        service.study(tenant, "one", 5)
        service.study(tenant, "two", 5)
        device = service.device()
        ended(service, device, service.lease(device), 10.0)
        shown = service.get("/v1/overview")
        assert 0.0 <= shown["regret_low"] < shown["regret_estimate"] < shown["regret_high"]
        trend = service.get("/v1/trend")
        for name, curve in (("estimate", "regret"), ("low", "low"), ("high", "high")):
            assert shown[f"regret_{name}"] == pytest.approx(trend[curve][-1], abs=1e-8)
        busy, idle = shown["tenants"]
        assert busy["limits"] == {"running_trials": 3, "device_seconds_per_day": None}
        assert (busy["device_seconds_today"], idle["device_seconds_today"]) == (10.0, 0.0)
        assert busy["happiness"] == shown["happiness"]
        # One study has a score of 0.5 and is expected to improve, the other has no score yet.
        assert 0.0 < shown["happiness"] < 0.5
        assert idle["happiness"] == 1.0
        own = service.get("/v1/overview", tenant)
        assert own["tenants"] == [{**busy, "share": None}]
        assert own["latency"] is None

    def test_latency_of_the_latest_decisions(self, service: Service) -> None:
        assert service.get("/v1/overview")["latency"] is None
        metrics: Metrics = service.app.state.context.metrics
        for turn in range(1500):
            metrics.decided(1.0 if turn < 500 else 0.001 * (turn - 499))
        latency = service.get("/v1/overview")["latency"]
        assert latency == {
            "decisions": 1000,
            "median": pytest.approx(0.5005),
            "p99": pytest.approx(0.99, abs=0.001),
        }


class TestTimeline:
    def test_trials_and_devices(self, service: Service) -> None:
        one, two = service.tenant("one"), service.tenant("two")
        mine = service.study(one, "mine", {"a": 30.0, "b": 40.0, "c": 50.0})
        service.study(two, "other", {"d": 60.0, "e": 70.0})
        runner = service.device("d1", kind="cpu")
        service.device("d2", runner, kind="gpu")
        leases = [service.lease(runner, "d1")]
        leases.append(service.lease(runner, "d2"))
        ended(service, runner, leases[0], 20.0)
        ended(service, runner, leases[1], 5.0, action="fail", reason="memory", final=True)
        leases.append(service.lease(runner, "d1"))
        service.clock.advance(2.0)
        shown = service.get("/v1/timeline")
        assert (shown["time"], shown["since"], shown["cut"]) == (NOON + 27, NOON + 27 - 3600, False)
        assert shown["devices"] == [
            {"name": "d1", "kind": "cpu", "busy": True, "away": False},
            {"name": "d2", "kind": "gpu", "busy": False, "away": False},
        ]
        assert [each["id"] for each in shown["trials"]] == [each["trial"] for each in leases[::-1]]
        for each, lease in zip(shown["trials"], leases[::-1], strict=True):
            complete = service.get(f"/v1/trials/{each['id']}")
            assert each.pop("name") == lease["study_name"]
            assert each == {name: complete[name] for name in each}
        for token in (one, two):
            own = service.get("/v1/timeline", token)
            trials = service.get("/v1/trials", token)["items"]
            assert [t["id"] for t in own["trials"]] == [t["id"] for t in trials]
            running = {t["device"] for t in trials if t["state"] == "running"}
            used = sorted({t["device"] for t in trials})
            assert [(d["name"], d["busy"]) for d in own["devices"]] == [
                (name, name in running) for name in used
            ]
        assert {t["study"] for t in service.get("/v1/timeline", one)["trials"]} == {mine}

    def test_a_window_with_trials_that_overlap_it(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.study(service.tenant("a"), models=14)
        runner = service.device("d")
        for name in ("long", "endless"):
            service.device(name, runner)
        endless, long = service.lease(runner, "endless"), service.lease(runner, "long")
        done = []
        for turn in range(10):
            done.append(ended(service, runner, service.lease(runner, "d"), 10.0))
            for lease in [endless, long] if turn < 5 else [endless]:
                service.report(runner, lease, "heartbeat").ok()
            if turn == 4:
                service.report(runner, long, score=0.1).ok()
        shown = service.get("/v1/timeline", query="seconds=55")  # from second 45
        found = {trial["id"] for trial in shown["trials"]}
        assert found == {*done[4:], long["trial"], endless["trial"]}
        assert not shown["cut"]
        shown = service.get("/v1/timeline", query="seconds=55&limit=3")
        assert shown["cut"]
        assert [trial["id"] for trial in shown["trials"]] == [
            done[9], done[8], endless["trial"]
        ]  # fmt: skip
        # The search is limited: trials that started much earlier are not found.
        monkeypatch.setattr(timeline, "FURTHER", 3)
        shown = service.get("/v1/timeline", query="seconds=55")
        assert {trial["id"] for trial in shown["trials"]} == found - {long["trial"]}

    def test_devices_that_left(self, service: Service) -> None:
        service.study(service.tenant("a"))
        runner = service.device("gone", kind="old")
        ended(service, runner, service.lease(runner, "gone"), 1.0)
        service.post("/v1/devices/gone/leave", None, runner).ok()
        service.device("here", runner)
        assert service.get("/v1/timeline")["devices"] == [
            {"name": "gone", "kind": "old", "busy": False, "away": False},
            {"name": "here", "kind": "", "busy": False, "away": False},
        ]


def test_candidates_have_durations(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    study = service.study(tenant, models=4)
    fine = ended(service, device, service.lease(device), 7.0)
    bad = ended(service, device, service.lease(device), 2.0, action="fail", final=True)
    lost = ended(service, device, service.lease(device), 3.0, action="release")
    running = service.lease(device)
    shown = service.get(f"/v1/studies/{study}/candidates", tenant)["items"]
    durations = {
        each["trial"]: (each["state"], each["duration"]) for each in shown if each["trial"]
    }
    expected = {
        fine: ("observed", 7.0),
        bad: ("failed", 2.0),
        lost: ("untried", None),
        running["trial"]: ("running", None),
    }
    if running["model"] == service.get(f"/v1/trials/{lost}", tenant)["model"]:
        del expected[lost]  # it is running again
    assert durations == expected


def test_decisions_contain_names_of_studies(service: Service) -> None:
    tenant = service.tenant("a", limits={"running_trials": 1})
    service.study(tenant, "first", {"m": 1.0, "n": 3.0}, dataset="d")
    service.study(tenant, "second", {"m": 1.0, "o": 9.0}, dataset="d", weight=3.0)
    service.study(service.tenant("b"), "third", {"p": 5.0})
    runner = service.device("x")
    service.device("y", runner)
    service.lease(runner, "x")
    service.lease(runner, "y")
    names = {study.id: study.name for study in service.pool.studies.values()}
    decisions = service.get("/v1/decisions")["items"]
    named_studies = [decision["gains"] + decision["runners_up"] for decision in decisions]
    named_studies.append([change["instead"] for each in decisions for change in each["changes"]])
    assert all(named_studies)
    for each in itertools.chain.from_iterable(named_studies):
        assert each["name"] == names[each["study"]]
    assert {each["study_name"] for each in decisions} == {names[e["study"]] for e in decisions}


class TestNext:
    def test_the_next_model_is_the_one_that_runs(self, service: Service) -> None:
        tenant, device = service.tenant("a", weight=2.0), service.device()
        study = service.study(tenant, models={f"m{n}": 2.0 + n for n in range(6)}, weight=3.0)
        for remaining in range(6, 0, -1):
            shown = service.get(f"/v1/studies/{study}/next", tenant)
            candidates = service.get(f"/v1/studies/{study}/candidates", tenant)["items"]
            best = max((c for c in candidates if c["state"] == "untried"), key=lambda c: c["rate"])
            lease = service.lease(device)
            assert shown["model"] == lease["model"] == best["model"]
            for name in ("expected_improvement", "cost", "rate"):
                assert shown[name] == pytest.approx(best[name])
            assert shown["value"] == pytest.approx(6.0 * shown["rate"])
            many = (
                f"Of {remaining} models left, it has the highest expected improvement per second: "
                f"{short_number(shown['value'])} ({short_number(shown['value'] * shown['cost'])} "
                f"(weighted) in about {shown['cost']:.1f} s)"
            )
            assert shown["reason"].startswith(
                many if remaining > 1 else "It is the only model left"
            )
            ended(service, device, lease, 1.0)
        assert service.get(f"/v1/studies/{study}/next", tenant)["reason"] == (
            "The study is closed: every model was tried."
        )

    def test_reasons_for_no_next_model(self, service: Service) -> None:
        tenant, device = service.tenant("a"), service.device()
        study = service.study(tenant, models=2, stop={"trials": 1})

        def next_model(token: str = tenant) -> Any:
            return service.get(f"/v1/studies/{study}/next", token)

        service.request("PATCH", "/v1/tenants/a", {"limits": {"running_trials": 0}}).ok()
        assert next_model()["model"] is not None
        assert next_model()["waits"] == (
            "Your limit of 0 running trials is reached; ask the operator to raise it, or wait for "
            "one to end."
        )
        assert next_model("")["waits"].startswith("The limit of a of 0 running trials")
        limits = {"device_seconds_per_day": 0.0}
        service.request("PATCH", "/v1/tenants/a", {"limits": limits}).ok()
        assert next_model()["waits"] == (
            "Your limit of 0 s of device time a day is used up; ask the operator to raise it, or "
            "wait for the next day (UTC), which begins in 12 h."
        )
        service.request("PATCH", "/v1/tenants/a", {"limits": {}}).ok()
        assert next_model()["waits"].startswith("No device is free for it yet")
        service.clock.advance(60.0)
        assert next_model()["waits"] == (
            "No device is alive to run it; the operator must start a worker."
        )
        service.post(f"/v1/studies/{study}/pause", None, tenant).ok()
        nothing = dict.fromkeys(["model", "expected_improvement", "cost", "rate", "value"])
        assert next_model() == {
            "study": study,
            **nothing,
            "reason": "The study is paused; resume it.",
            "waits": "",
        }
        assert next_model("") == next_model()
        service.post(f"/v1/studies/{study}/resume", None, tenant).ok()
        service.lease(device)
        assert (
            next_model()["reason"] == "The study is at its limit of trials, counting running ones."
        )
        study = service.study(tenant, "other", 1)
        service.device("more", device)
        service.lease(device, "more")
        assert next_model()["reason"] == "Every model was tried or is running."

    def test_reasons_mention_shared_data_and_running_trials(self, service: Service) -> None:
        tenant, device = service.tenant("a"), service.device()
        study = service.study(tenant, "one", 4, dataset="d")
        service.study(tenant, "two", 4, dataset="d")
        service.lease(device)
        reason = service.get(f"/v1/studies/{study}/next", tenant)["reason"]
        assert reason.endswith(
            ", taking into account the other studies on the same data and the possible scores of "
            "running trials."
        )

    @pytest.mark.parametrize(
        ("policy", "exponent", "warm_start", "words"),
        [
            ("mdmt", 1.0, "fastest:1", "Every study starts with a few models"),
            ("mdmt", 0.0, "none", "highest expected improvement: "),
            ("joint", 0.5, "none", "highest expected improvement relative to its cost: "),
            ("round-robin", 1.0, "none", "highest expected improvement: "),
            ("gp-ucb", 1.0, "none", "highest upper confidence bound relative to its cost: its "),
        ],
    )
    def test_reasons_depend_on_the_policy(
        self, policy: str, exponent: float, warm_start: str, words: str
    ) -> None:
        with serving(first=PoolCreated(policy, warm_start, 0, 3, exponent)) as service:
            tenant, device = service.tenant("a"), service.device()
            study = service.study(tenant, models={"slow": 9.0, "fast": 1.0, "so so": 4.0})
            shown = service.get(f"/v1/studies/{study}/next", tenant)
            assert words in shown["reason"]
            assert shown["model"] == service.lease(device)["model"]
            assert (shown["value"] is None) == (warm_start != "none")


class TestHeatmap:
    def test_the_heatmap_agrees_with_the_candidates(self, service: Service) -> None:
        tenant, other = service.tenant("a", weight=2.0), service.tenant("b")
        device = service.device()
        studies = [
            service.study(tenant, "one", 4, dataset="d", weight=5.0),
            service.study(tenant, "two", ["m2", "x", "m1"], dataset="d"),
            service.study(other, "three", {"x": 2.0, "m0": 1.0}),
        ]
        for turn in range(4):
            ended(service, device, service.lease(device), 1.0 + turn, score=0.1 * turn)
        ended(service, device, service.lease(device), 1.0, action="fail", final=True)
        service.lease(device)
        service.post(f"/v1/studies/{studies[2]}/pause", None, other).ok()
        shown = service.get("/v1/heatmap")
        assert shown["next"] is None
        assert [item["study"] for item in shown["items"]] == studies[::-1]
        seen = set()
        for item in shown["items"]:
            complete = service.get(f"/v1/studies/{item['study']}")
            assert [item[n] for n in ("name", "tenant", "state")] == [
                complete[n] for n in ("name", "tenant", "state")
            ]
            expected = {
                each["model"]: each
                for each in service.get(f"/v1/studies/{item['study']}/candidates")["items"]
            }
            assert len(item["columns"]) == len(expected)
            for index, column in enumerate(item["columns"]):
                each = expected.pop(shown["models"][column])
                assert item["states"][index] == each["state"]
                assert item["observed"][index] == each["score"]
                for name in ("mean", "sigma", "rate"):
                    value = each[name]
                    found = item[name][index]
                    assert found == (None if value is None else pytest.approx(value, rel=1e-5))
                seen.add(each["state"])
            assert not expected
        assert seen == {"untried", "running", "observed", "failed"}
        own = service.get("/v1/heatmap", other)
        assert (own["models"], len(own["items"])) == (["x", "m0"], 1)

    def test_pages_and_selections(self, service: Service) -> None:
        tenant, stranger = service.tenant("a"), service.tenant("b")
        studies = [service.study(tenant, f"s{number}", 2) for number in range(5)][::-1]
        service.post(f"/v1/studies/{studies[0]}/close", None, tenant).ok()

        def studies_for(query: str, token: str = tenant) -> list[str]:
            shown = service.get("/v1/heatmap", token, query)
            return [item["study"] for item in shown["items"]]

        first = service.get("/v1/heatmap", tenant, "limit=2")
        assert [item["study"] for item in first["items"]] == studies[:2]
        assert studies_for(f"after={first['next']}") == studies[2:]
        assert studies_for("state=open") == studies[1:]
        chosen = f"studies={studies[3]},nothing,{studies[1]},{studies[3]}"
        assert studies_for(chosen) == [studies[3], studies[1]]
        assert studies_for(chosen, stranger) == []
        assert studies_for("studies=") == []
        many = "studies=" + ",".join(str(number) for number in range(51))
        service.request("GET", "/v1/heatmap", query=many).refused(422, "at most 50")
        assert service.request("GET", "/v1/heatmap", query="limit=51").status == 422


def test_numbers_are_rounded() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(2000) * 10.0 ** rng.integers(-12, 13, 2000)
    assert short(values) == [float(f"{value:.6g}") for value in values]
    special = np.array([0.0, np.nan, np.inf, -np.inf, 1e-300, 5.0])
    assert short(special) == [0.0, None, None, None, 1e-300, 5.0]


@pytest.mark.parametrize("count", [0, 1, 5, 6])
def test_pieces_give_the_same_response(service: Service, count: int) -> None:
    body = {"a": 1, "items": [{"name": f'"{n}\u20ac'} for n in range(count)], "next": None}
    pieces = service.run(answered_in_pieces(body, "items", 5))
    assert json.loads(bytes(pieces.body)) == json.loads(bytes(answered(body).body)) == body
