"""The front door: roles are declared, tenants never get the pool, a stream costs no turns."""

import pytest
from support.service_app import Service

from bentham.service.engine.scope import Caller
from bentham.service.engine.turn import Look, Turn, allowed
from bentham.service.engine.working_state import WorkingState
from bentham.service.refusals import Forbidden


def test_a_tenants_turn_never_has_the_whole_pool(service: Service) -> None:
    working = service.engine.working
    for role in ("admin", "device"):
        assert Turn(working, Caller("t", role)).whole() is service.pool
    with pytest.raises(Forbidden):
        Turn(working, Caller("t", "tenant", "lab")).whole()


def test_what_declares_no_roles_is_for_nobody(service: Service) -> None:
    door = service.app.state.context.service

    def undeclared(_: Look) -> int:
        return 1

    with pytest.raises(Forbidden):
        service.run(door.read(service.admin, undeclared))
    assert service.run(door.read(service.admin, allowed("admin")(undeclared))) == 1


def test_an_event_is_described_once_however_many_listen(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[str] = []
    describe = service.engine.describe

    def counting(working: WorkingState, happening: object) -> dict[str, object]:
        described.append(happening.kind)  # type: ignore[attr-defined]
        return describe(working, happening)  # type: ignore[arg-type]

    monkeypatch.setattr(service.engine, "describe", counting)
    lab = service.tenant("lab")
    assert described == []  # nobody listens
    door, tenant = service.app.state.context.service, Caller("t", "tenant", "lab")
    with (
        door.listening(Caller("a", "admin"), None) as (one, _),
        door.listening(Caller("b", "admin"), None) as (other, _),
        door.listening(tenant, None) as (own, _),
    ):
        service.study(lab, "wine", 2)
        told = [each.queue.get_nowait() for each in (one, other, own)]
    assert [each.kind for each in told] == ["study-created"] * 3
    assert told[0] is told[1]
    assert described == ["study-created"] * 2  # once in each feed


def test_a_token_is_known_once_it_is_committed_and_not_when_revoked(service: Service) -> None:
    door = service.app.state.context.service
    issued = service.request("POST", "/v1/tokens", {"role": "device"}).ok(201)
    caller = door.caller(issued["secret"])
    assert caller is not None
    assert caller.role == "device"
    service.request("DELETE", f"/v1/tokens/{issued['id']}")
    assert door.caller(issued["secret"]) is None
    assert door.caller("nonsense") is None
    service.restart()
    assert service.app.state.context.service.caller(service.admin) is not None
