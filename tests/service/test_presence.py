"""Devices are present, away since their last sign of life, or gone."""

import pytest
from support.service_app import NOON, Service, serving

from bentham.forecast import Question, forecast


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
    first = next(forecast(service.pool, Question(draws=2), NOON, ["two"]))
    assert (first["now"], first["devices"]) == (1, 2)
    assert "Devices that are away (1) are left out." in first["notes"]
    service.lease(device, "two")  # it has come back since
    assert next(forecast(service.pool, Question(draws=2), NOON, ["two"]))["now"] == 2


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
