"""Access to the service: queries declare roles, tenants never get the whole pool."""

import pytest
from support.service_app import Service

from bentham.service.engine.scope import Caller
from bentham.service.engine.turn import Look, Turn, allowed
from bentham.service.engine.working_state import WorkingState
from bentham.service.refusals import Forbidden


def test_a_tenant_never_gets_the_whole_pool(service: Service) -> None:
    working = service.engine.working
    for role in ("admin", "device"):
        assert Turn(working, Caller("t", role)).whole() is service.pool
    with pytest.raises(Forbidden):
        Turn(working, Caller("t", "tenant", "lab")).whole()


def test_queries_without_roles_are_refused(service: Service) -> None:
    front = service.app.state.context.service

    def undeclared(_: Look) -> int:
        return 1

    with pytest.raises(Forbidden):
        service.run(front.read(service.admin, undeclared))
    assert service.run(front.read(service.admin, allowed("admin")(undeclared))) == 1


def test_an_event_is_described_once_per_feed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[str] = []
    describe = service.engine.describe

    def counting(working: WorkingState, event: object) -> dict[str, object]:
        described.append(event.kind)  # type: ignore[attr-defined]
        return describe(working, event)  # type: ignore[arg-type]

    monkeypatch.setattr(service.engine, "describe", counting)
    lab = service.tenant("lab")
    assert described == []  # there are no listeners
    front, tenant = service.app.state.context.service, Caller("t", "tenant", "lab")
    with (
        front.listening(Caller("a", "admin"), None) as (one, _),
        front.listening(Caller("b", "admin"), None) as (other, _),
        front.listening(tenant, None) as (own, _),
    ):
        service.study(lab, "wine", 2)
        events = [each.queue.get_nowait() for each in (one, other, own)]
    assert [each.kind for each in events] == ["study-created"] * 3
    assert events[0] is events[1]
    assert described == ["study-created"] * 2  # once in each feed


def test_a_token_is_valid_from_its_commit_until_it_is_revoked(service: Service) -> None:
    front = service.app.state.context.service
    issued = service.request("POST", "/v1/tokens", {"role": "device"}).ok(201)
    caller = front.caller(issued["secret"])
    assert caller is not None
    assert caller.role == "device"
    service.request("DELETE", f"/v1/tokens/{issued['id']}")
    assert front.caller(issued["secret"]) is None
    assert front.caller("nonsense") is None
    service.restart()
    assert service.app.state.context.service.caller(service.admin) is not None
