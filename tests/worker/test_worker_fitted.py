"""The worker uploads fitted models, and sends looks at models without ever risking a score."""

from typing import Any

import pytest
from support.workers import World

from bentham.errors import Refused, Unavailable
from bentham.executors import Fitted, Scored

LOOK = {"rows": 3, "residuals": {"quantiles": [[0.5, 0.1]], "sample": [[1.0, 1.1]]}}


def ending(monkeypatch: pytest.MonkeyPatch, outcome: object) -> World:
    """A world whose trials have this outcome at once."""
    monkeypatch.setattr("support.workers.TimedTrial.poll", lambda _: outcome)
    return World("1")


def received(world: World, verb: str) -> list[Any]:
    return [value for _, each, _, value in world.server.received if each == verb]


def test_a_fitted_model_is_uploaded_after_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Fitted(b"PK", ("numpy==2.3.0",)))
    world.executor.printed = b"fitted"
    world.pass_time(3)
    assert received(world, "model") == [(b"PK", ["numpy==2.3.0"])]
    assert world.server.verbs("log", "model", "complete", "fail", "release") == ["log", "model"]
    assert world.events("model") == ["model fitted"]


def test_a_long_upload_keeps_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Fitted(b"PK"))
    start, held = world.calls.start, []

    def start_slowly(function: Any) -> Any:
        if function.__qualname__.startswith("_Upload"):
            world.calls.hold = True
            call = start(function)
            world.calls.hold = False
            held.append(call)
            return call
        return start(function)

    monkeypatch.setattr(world.calls, "start", start_slowly)
    world.pass_time(100)  # the lease is 40 seconds
    assert len(world.server.verbs("heartbeat")) >= 9
    assert len(held) == 1
    held[0].run()
    world.pass_time(1)
    assert world.server.verbs("model", "release") == ["model"]


def test_an_interrupted_upload_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Fitted(b"PK"))
    world.server.failing["model"] = [Unavailable("no route"), Unavailable("no route")]
    world.pass_time(30)
    assert received(world, "model") == [(b"PK", [])]
    assert world.server.verbs("release", "fail") == []


def test_a_refused_model_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Fitted(b"PK"))
    world.server.failing["model"] = [Refused("the body is too large", 413)]
    world.pass_time(3)
    ((reason, final),) = received(world, "fail")
    assert final
    assert "the server refused the fitted model" in reason


def test_a_look_is_sent_and_an_invalid_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Scored(0.5, {}, (), LOOK))
    world.pass_time(3)
    (sent,) = received(world, "look")
    assert sent["rows"] == 3
    for wrong in ({"rows": -1}, {"rows": 1, "x": 2}, {1: 2}):
        world = ending(monkeypatch, Scored(0.5, {}, (), wrong))  # type: ignore[arg-type]
        world.pass_time(3)
        assert received(world, "look") == []
        assert received(world, "complete") == [(0.5, {}, [])]


def test_a_look_that_the_server_refuses_costs_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ending(monkeypatch, Scored(0.5, {}, (), LOOK))
    world.server.failing["look"] = [Refused("look: an older server", 422)]
    world.pass_time(3)
    assert received(world, "complete") == [(0.5, {}, [])]
    assert received(world, "fail") == []
