"""Idempotency keys: a retry of any POST gets the same response and changes nothing."""

from typing import Any

from support.service_app import Service, api_routes, serving
from support.service_story import HISTORY

# For every POST route: the body of a request that succeeds once after `prepare`.
BODIES: dict[str, Any] = {
    "/v1/tenants": {"name": "new"},
    "/v1/tokens": {"role": "admin"},
    "/v1/history": HISTORY,
    "/v1/studies": {"name": "new", "models": ["m0"]},
    "/v1/studies/{study}/pause": None,
    "/v1/studies/{study}/resume": None,
    "/v1/studies/{study}/close": None,
    "/v1/studies/{study}/reopen": None,
    "/v1/devices": {"name": "new"},
    "/v1/devices/{device}/leave": None,
    "/v1/devices/{device}/lease": {"wait": 0.0},
    "/v1/trials/{trial}/heartbeat": {},
    "/v1/trials/{trial}/complete": {"score": 0.5},
    "/v1/trials/{trial}/fail": {"reason": "why"},
    "/v1/trials/{trial}/release": {},
}
# Heartbeats are not in the log: a retry is another heartbeat.
NOT_IN_LOG = {"/v1/trials/{trial}/heartbeat"}


def prepare(service: Service, path: str) -> tuple[str, Any, str]:
    """Prepare the service for a request; return its address, body and token."""
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
    if path.endswith("reopen"):
        service.post(f"/v1/studies/{study}/close", None, tenant).ok()
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
    routes.remove("/v1/session")  # sessions belong to one browser
    routes.remove("/v1/whatif")  # held in memory only: see test_whatif
    routes.remove("/v1/studies/{study}/fitted")  # needs data: see test_service_fitted
    routes.remove("/v1/datasets")  # a repeated upload changes nothing, with or without a key
    assert sorted(routes) == sorted(BODIES), "a POST route was added or removed: update BODIES"


def test_a_retry_gets_the_same_response_and_changes_nothing() -> None:
    for path in BODIES:
        with serving() as service:
            address, body, token = prepare(service, path)
            first = service.post(address, body, token, key="once")
            assert first.status in (200, 201), (path, first)
            head = service.pool.sequence
            for _ in range(2):
                retry = service.post(address, body, token, key="once")
                if path == "/v1/tokens":
                    retry.refused(409, "its secret is shown only once")
                else:
                    assert (path, retry.status, retry.body) == (path, first.status, first.body)
                assert service.pool.sequence == head, path
                service.restart()
            if path not in NOT_IN_LOG:
                refused = service.post(address, other_body(body), token, key="once")
                assert refused.status == 422, (path, refused)
            assert service.pool.sequence == head, path


def test_keys_are_separate_per_token_and_address(service: Service) -> None:
    one, other = service.tenant("a"), service.tenant("b")
    body = {"name": "s", "models": ["m0"]}
    first = service.post("/v1/studies", body, one, key="k").ok(201)
    second = service.post("/v1/studies", body, other, key="k").ok(201)
    assert first["id"] != second["id"]
    service.post(f"/v1/studies/{first['id']}/pause", None, one, key="k").ok()
    closed = service.post(f"/v1/studies/{first['id']}/close", None, one, key="k").ok()
    assert closed["state"] == "closed"


def test_a_key_must_be_printable_ascii(service: Service) -> None:
    body = {"name": "a"}
    for key in ("", "x" * 201, "tab\there", "é"):
        service.post("/v1/tenants", body, key=key).refused(422, "Idempotency-Key")
    service.post("/v1/tenants", body, key="x" * 200).ok(201)


def test_a_retried_lease_request_returns_the_same_lease(service: Service) -> None:
    tenant, device = service.tenant("a"), service.device()
    service.study(tenant)
    assert service.lease(device, key="ask") is not None
    first = service.post("/v1/devices/gpu/lease", {}, device, key="ask")
    service.report(device, first.json, score=0.5).ok()
    retry = service.post("/v1/devices/gpu/lease", {}, device, key="ask")
    assert (retry.status, retry.body) == (200, first.body)
    assert service.lease(device, key="next")["trial"] != first.json["trial"]


def test_a_key_can_be_reused_after_an_empty_response(service: Service) -> None:
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


def test_a_retry_never_shows_another_device_with_the_name(service: Service) -> None:
    one, other = service.token("device"), service.token("device")
    service.post("/v1/devices", {"name": "gpu", "kind": "x"}, one, key="k").ok(201)
    service.post("/v1/devices/gpu/leave", None, one).ok()
    service.post("/v1/devices", {"name": "gpu", "kind": "secret"}, other).ok(201)
    response = service.post("/v1/devices", {"name": "gpu", "kind": "x"}, one, key="k")
    assert b"secret" not in response.body
    response.refused(409, "has left; register it again")
