"""Devices are present, away since their last sign of life, or gone."""

import json
import re

import pytest
import structlog
from support.service_app import NOON, Service, serving

from bentham.forecast import forecast
from bentham.forecast.starting_point import StartingPoint
from bentham.service import Question


def presence(service: Service, name: str = "gpu") -> tuple[str, float | None]:
    shown = service.get(f"/v1/devices/{name}")
    return shown["presence"], shown["away_since"]


@pytest.mark.parametrize("sign", ["a lease request", "a heartbeat"])
def test_a_sign_of_life_keeps_a_device_present(service: Service, sign: str) -> None:
    tenant, device = service.tenant("a"), service.device()
    lease = None
    if sign == "a heartbeat":
        service.study(tenant)
        lease = service.lease(device)
    for _ in range(5):
        service.clock.advance(29.0)
        if lease is None:
            assert service.lease(device) is None
        else:
            service.report(device, lease, "heartbeat").ok()
        assert presence(service) == ("present", None)


def test_a_silent_device_leaves_the_counts_and_comes_back_by_itself(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device("gpu")
    service.device("other", device)
    service.study(tenant, models=4)
    lease = service.lease(device)
    service.clock.advance(30.0)
    assert presence(service) == ("present", None)  # but its lease has run out
    service.clock.advance(29.0)
    service.lease(device, "other")
    assert presence(service) == ("present", None)
    service.clock.advance(1.0)
    assert presence(service) == ("away", NOON)
    assert service.get("/v1/overview")["devices"] == {"present": 1, "busy": 1, "away": 1}
    shown = service.get("/v1/timeline", query="seconds=1")
    assert [each["name"] for each in shown["devices"]] == ["other"]
    shown = service.get("/v1/timeline")  # its trial is in the time range
    assert {each["name"]: each["away"] for each in shown["devices"]} == {
        "gpu": True,
        "other": False,
    }
    own = service.get("/v1/timeline", tenant)
    assert not any(each["away"] for each in own["devices"])
    assert service.post("/v1/whatif", {"draws": 2}).ok(202)["now"] == 1
    metrics = service.request("GET", "/metrics").body.decode().splitlines()
    assert 'bentham_devices{presence="present"} 1.0' in metrics
    assert 'bentham_devices{presence="away"} 1.0' in metrics
    # Its late report is refused, and is not yet a sign of life; its next request is one.
    service.report(device, lease, score=0.5).refused(409, "lost (the lease ran out)")
    assert service.lease(device) is not None
    assert presence(service) == ("present", None)
    assert service.get("/v1/overview")["devices"] == {"present": 2, "busy": 2, "away": 0}


def test_a_forecast_leaves_out_devices_that_are_away(service: Service) -> None:
    device = service.device("one")
    service.device("two", device)
    service.study(service.tenant("a"))
    question = Question(0.1, 2, 2, service.pool.sequence, NOON, ("two",))
    note = "Devices that are away (1) are left out."
    assert note in next(forecast(service.pool, question))["notes"]
    assert StartingPoint.of(service.pool, NOON, question.away).devices == ("one",)


def test_a_device_that_stays_away_leaves_after_an_hour(service: Service) -> None:
    service.device()
    service.clock.advance(3599.0)
    assert presence(service) == ("away", NOON)
    service.clock.advance(1.0)
    service.request("GET", "/v1/devices/gpu").refused(404, "register it first")
    assert service.get("/v1/overview")["devices"] == {"present": 0, "busy": 0, "away": 0}


def test_every_device_gets_the_full_time_after_a_restart() -> None:
    with serving() as service:
        service.device()
        service.clock.advance(59.0)
        service.restart()
        service.clock.advance(59.0)
        assert presence(service) == ("present", None)
        service.clock.advance(1.0)
        assert presence(service) == ("away", NOON + 59.0)


def test_a_device_that_registers_again_is_present(service: Service) -> None:
    device = service.device()
    service.clock.advance(100.0)
    assert presence(service) == ("away", NOON)
    service.device(token=device)
    assert presence(service) == ("present", None)
    service.clock.advance(59.0)
    assert service.get("/v1/overview")["devices"] == {"present": 1, "busy": 0, "away": 0}


def stranded(service: Service, token: str = "") -> bool:
    shown = service.get("/v1/overview", token)["no_device"]
    assert isinstance(shown, bool)
    return shown


def metric(service: Service, name: str) -> float:
    lines = service.request("GET", "/metrics").body.decode().splitlines()
    (value,) = [line.split()[1] for line in lines if line.startswith(f"{name} ")]
    return float(value)


def test_work_that_waits_while_no_device_is_alive_is_said_once(service: Service) -> None:
    busy, idle = service.tenant("busy"), service.tenant("idle")
    device = service.device()
    study = service.study(busy, models=2)
    lease = service.lease(device)
    assert (stranded(service), metric(service, "bentham_work_without_devices")) == (False, 0.0)
    with structlog.testing.capture_logs() as lines:
        for _ in range(5):
            service.clock.advance(30.0)
            service.get("/v1/studies")
        assert (stranded(service), stranded(service, busy)) == (True, True)
        assert not stranded(service, idle)  # it learns nothing of the pool
        assert metric(service, "bentham_work_without_devices") == 1.0
        assert service.lease(device) is not None
        service.clock.advance(1.0)
        assert (stranded(service), stranded(service, busy)) == (False, False)
        service.post(f"/v1/studies/{study}/close", None, busy).ok()
    requests = ("request", "requests")
    told = [
        (line.pop("event"), line)
        for line in lines
        if line.pop("log_level") != "debug" and line["event"] not in requests
    ]
    assert told == [
        (
            "lease lost",
            {
                "device": "gpu", "trial": lease["trial"], "model": "m0", "study": "s",
                "tenant": "busy", "reason": "the lease ran out",
            },
        ),
        ("device away", {"device": "gpu", "silent_seconds": 60.0}),
        ("work waits and no device is alive", {"tenants": 1, "devices_away": 1}),
        ("device back", {"device": "gpu"}),
        ("a device is alive again", {"devices": 1}),
        ("study closed", {"study": "s", "tenant": "busy", "reason": "closed by request"}),
    ]  # fmt: skip


def test_pages_are_told_without_an_event_in_the_log(service: Service) -> None:
    busy, idle = service.tenant("busy"), service.tenant("idle")
    device = service.device()
    service.study(busy)
    listeners = {name: service.begin("GET", "/v1/events", token=token)
                 for name, token in (("", ""), ("busy", busy), ("idle", idle))}  # fmt: skip
    service.until(lambda: all(each.chunks for each in listeners.values()))
    events = service.pool.sequence
    service.clock.advance(60.0)
    service.get("/v1/devices")
    assert service.pool.sequence == events
    service.lease(device)
    service.clock.advance(1.0)
    service.get("/v1/devices")
    texts = {name: b"".join(each.chunks).decode() for name, each in listeners.items()}
    for each in listeners.values():
        each.hang_up()
        service.finish(each)
    found = {name: re.findall(r"(?m)^event: (device\S*|no-device)\ndata: (.*)$", text)
             for name, text in texts.items()}  # fmt: skip
    kinds = {name: [kind for kind, _ in each] for name, each in found.items()}
    assert kinds == {
        "": ["device-away", "no-device", "device-back", "no-device"],
        "busy": ["no-device", "no-device"],
        "idle": [],
    }
    assert json.loads(found[""][0][1])["presence"] == "away"
    for name in ("", "busy"):
        told = [json.loads(data)["no_device"] for kind, data in found[name] if kind == "no-device"]
        assert told == [True, False]
    session = service.post("/v1/session", {"token": busy}, None).ok()
    assert {"device-away", "device-back", "no-device"} <= set(session["events"])
    assert session["no_device"] is False


def test_a_reached_limit_is_logged_once(service: Service) -> None:
    tenant = service.tenant("a", limits={"running_trials": 1})
    device = service.device()
    service.study(tenant, models=20)
    with structlog.testing.capture_logs() as lines:
        for _ in range(15):
            lease = service.lease(device)
            service.clock.advance(10.0)
            service.report(device, lease, score=0.5).ok()
            service.clock.advance(0.25)
            service.get("/v1/devices")
        assert service.get("/v1/overview")["tenants"][0]["reached"] is None
        service.lease(device)
        assert service.get("/v1/overview")["tenants"][0]["reached"] == "running-trials"
    reached = [line for line in lines if line["event"] == "limit reached"]
    fields = ("tenant", "limit", "running", "allowed")
    assert [tuple(line[name] for name in fields) for line in reached] == [
        ("a", "running-trials", 1, 1)
    ]


def test_a_used_up_day_is_logged_with_its_end(service: Service) -> None:
    tenant = service.tenant("a", limits={"device_seconds_per_day": 20.0})
    device = service.device()
    service.study(tenant, models=20)
    with structlog.testing.capture_logs() as lines:
        lease = service.lease(device)
        service.clock.advance(25.0)
        service.report(device, lease, score=0.5).ok()
        service.device("gpu", device)  # its worker was started again
    (line,) = (line for line in lines if line["event"] == "limit reached")
    assert (line["limit"], line["used_seconds"], line["allowed_seconds"]) == (
        "device-seconds-per-day", 25.0, 20.0
    )  # fmt: skip
    assert line["until"].endswith(" 00:00 UTC")
    told = [line["event"] for line in lines if line["event"].startswith("device ")]
    assert told == ["device registered again"]


def test_the_status_says_what_runs_and_why_the_rest_waits(service: Service) -> None:
    one, two = service.tenant("one", limits={"running_trials": 1}), service.tenant("two")
    device = service.device("d1")
    for name in ("d2", "d3"):
        service.device(name, device)
    first = service.study(one, "first", {"a": 30.0, "b": 40.0}, floor=0.25)
    lease = service.lease(device, "d1")
    service.clock.advance(10.0)
    service.report(device, lease, score=0.5, metrics={"score": 30.25}).ok()
    service.clock.advance(3600.0 - 15.0)
    for name in ("d1", "d2", "d3"):
        service.device(name, device)
    lease = service.lease(device, "d1")
    service.clock.advance(10.0)
    (study,) = service.get("/v1/status", one)["studies"]
    assert study == {
        "study": first, "tenant": "one", "name": "first", "state": "open", "metric": "score",
        "floor": 0.25, "best": 0.5, "measured": 30.25, "model": "a", "gained": 0.25, "models": 2,
        "tried": 1, "running": 1, "reason": "",
    }  # fmt: skip
    service.study(one, "second", {"c": 30.0, "d": 50.0})
    service.study(two, "third", {"e": 30.0})
    shown = service.get("/v1/status", one)
    assert (shown["running_count"], shown["study_count"]) == (1, 2)
    assert (shown["idle"], shown["away"]) == ([], [])
    (run,) = shown["running"]
    assert (run["id"], run["device"], run["name"]) == (lease["trial"], "d1", "first")
    second, again = shown["studies"]
    assert (second["name"], again["name"]) == ("second", "first")
    assert second["reason"].startswith("Your limit of 1 running trial is reached; ask the operator")
    pool = service.get("/v1/status")
    assert {each["name"]: each["reason"] for each in pool["studies"]} == {
        "first": "",
        "second": "The limit of one of 1 running trial is reached; raise it, or wait for one to "
        "end.",
        "third": "No device is free for it yet: each runs what is expected to gain the most per "
        "second.",
    }
    assert (pool["idle"], pool["away"], pool["study_count"]) == (["d2", "d3"], [], 3)
    service.clock.advance(55.0)
    service.lease(device, "d3")
    pool = service.get("/v1/status", query="limit=1")
    assert [each["name"] for each in pool["away"]] == ["d2"]
    assert len(pool["studies"]) == 1
    # A gain of more than an hour ago is no longer counted, and what is closed stays for its tenant.
    service.post(f"/v1/studies/{first}/close", None, one).ok()
    last = service.get("/v1/status", one)["studies"][-1]
    assert (last["name"], last["gained"]) == ("first", 0.0)
    assert last["reason"] == "The study is closed: closed by request."
    assert "first" not in [each["name"] for each in service.get("/v1/status")["studies"]]
