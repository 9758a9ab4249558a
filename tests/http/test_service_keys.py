"""Idempotency keys: a repeat of any POST gets the same answer and changes nothing."""

from typing import Any

from support.service_app import Service, api_routes, serving
from support.service_story import HISTORY

# Of every POST route: a request that works once, made from what `cast` made.
BODIES: dict[str, Any] = {
    "/v1/tenants": {"name": "new"},
    "/v1/tokens": {"role": "admin"},
    "/v1/history": HISTORY,
    "/v1/studies": {"name": "new", "models": ["m0"]},
    "/v1/studies/{study}/pause": None,
    "/v1/studies/{study}/resume": None,
    "/v1/studies/{study}/close": None,
    "/v1/devices": {"name": "new"},
    "/v1/devices/{device}/leave": None,
    "/v1/devices/{device}/lease": {"wait": 0.0},
    "/v1/trials/{trial}/heartbeat": {},
    "/v1/trials/{trial}/complete": {"score": 0.5},
    "/v1/trials/{trial}/fail": {"reason": "why"},
    "/v1/trials/{trial}/release": {},
}
# Heartbeats leave no event: a repeat is a heartbeat.
UNNOTED = {"/v1/trials/{trial}/heartbeat"}


def cast(service: Service, path: str) -> tuple[str, Any, str]:
    """The address, the body and the token of a request that works."""
    tenant, runner = service.tenant("a"), service.token("device")
    study = service.study(tenant)
    service.device("gpu", runner)
    body = BODIES[path]
    lease: Any = {}
    if "{trial}" in path:
        lease = service.lease(runner)
        body = {"fence": lease["fence"], **body}
    if path.endswith("resume"):
        service.post(f"/v1/studies/{study}/pause", None, tenant).ok()
    admins = ("/v1/tenants", "/v1/tokens", "/v1/history")
    token = service.admin if path in admins else tenant if "studies" in path else runner
    address = path.format(study=study, device="gpu", trial=lease.get("trial"))
    return address, body, token


def other_body(body: Any) -> Any:
    if isinstance(body, bytes):
        return body + b"oldest,m0,0.1,\n"
    if body is None:
        return {}
    return {**body, "name": "other"} if "name" in body else {**body, "label": "x"}


def test_every_post_route_takes_a_key(service: Service) -> None:
    routes = [path for method, path in api_routes(service.app) if method == "POST"]
    routes.remove("/v1/session")  # it is each browser's own
    routes.remove("/v1/whatif")  # kept in memory, and changes nothing: see test_whatif
    routes.remove("/v1/datasets")  # the same upload again changes nothing, with a key or without
    assert sorted(routes) == sorted(BODIES), "a POST route is new, or gone: say so in BODIES"


def test_a_repeat_gets_the_same_answer_and_changes_nothing() -> None:
    for path in BODIES:
        with serving() as service:
            address, body, token = cast(service, path)
            first = service.post(address, body, token, key="once")
            assert first.status in (200, 201), (path, first)
            head = service.pool.sequence
            for _ in range(2):
                again = service.post(address, body, token, key="once")
                if path == "/v1/tokens":
                    again.refused(409, "its secret is shown only once")
                else:
                    assert (path, again.status, again.body) == (path, first.status, first.body)
                assert service.pool.sequence == head, path
                service.restart()
            if path not in UNNOTED:
                refused = service.post(address, other_body(body), token, key="once")
                assert refused.status == 422, (path, refused)
            assert service.pool.sequence == head, path


def test_keys_of_other_tokens_and_addresses_are_other_keys(service: Service) -> None:
    one, other = service.tenant("a"), service.tenant("b")
    body = {"name": "s", "models": ["m0"]}
    first = service.post("/v1/studies", body, one, key="k").ok(201)
    second = service.post("/v1/studies", body, other, key="k").ok(201)
    assert first["id"] != second["id"]
    service.post(f"/v1/studies/{first['id']}/pause", None, one, key="k").ok()
    closed = service.post(f"/v1/studies/{first['id']}/close", None, one, key="k").ok()
    assert closed["state"] == "closed"


def test_a_key_is_of_printable_ascii(service: Service) -> None:
    body = {"name": "a"}
    for key in ("", "x" * 201, "tab\there", "é"):
        service.post("/v1/tenants", body, key=key).refused(422, "Idempotency-Key")
    service.post("/v1/tenants", body, key="x" * 200).ok(201)


def test_a_lease_that_got_lost_on_its_way_is_the_same_lease_again(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    service.study(tenant)
    assert service.lease(device, key="ask") is not None
    first = service.post("/v1/devices/gpu/lease", {}, device, key="ask")
    service.report(device, first.json, score=0.5).ok()
    again = service.post("/v1/devices/gpu/lease", {}, device, key="ask")
    assert (again.status, again.body) == (200, first.body)
    assert service.lease(device, key="next")["trial"] != first.json["trial"]


def test_a_key_that_found_nothing_may_find_something(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    assert service.lease(device, key="ask") is None
    service.study(tenant)
    assert service.lease(device, key="ask") is not None


def test_keys_are_kept_for_a_day(service: Service) -> None:
    service.post("/v1/tenants", {"name": "a"}, key="k").ok(201)
    service.clock.advance(86_399.0)
    service.post("/v1/tenants", {"name": "a"}, key="k").ok(201)
    service.clock.advance(2.0)
    service.post("/v1/tenants", {"name": "b"}, key="another").ok(201)
    service.post("/v1/tenants", {"name": "a"}, key="k").refused(409, "already")


def test_a_repeat_never_shows_the_device_that_took_the_name(service: Service) -> None:
    one, other = service.token("device"), service.token("device")
    service.post("/v1/devices", {"name": "gpu", "kind": "x"}, one, key="k").ok(201)
    service.post("/v1/devices/gpu/leave", None, one).ok()
    service.post("/v1/devices", {"name": "gpu", "kind": "secret"}, other).ok(201)
    answer = service.post("/v1/devices", {"name": "gpu", "kind": "x"}, one, key="k")
    assert b"secret" not in answer.body
    answer.refused(409, "has left; register it again")
