"""The worker: progress, metrics and logs of trials, and changing slots."""

from itertools import pairwise
from typing import Any

import pytest
from support.workers import LEASE_SECONDS, World

from bentham.errors import NotAllowed, ServiceError
from bentham.executors import Progress, Scored

# -- progress and logs --------------------------------------------------------------------------


def beats(world: World) -> list[tuple[float, object]]:
    return [(time, value) for time, verb, _, value in world.server.received if verb == "heartbeat"]


def test_heartbeats_contain_progress() -> None:
    world = World("60")
    world.pass_time(1)
    world.executor.progress = Progress(0.01)  # too little for an extra heartbeat
    world.pass_time(6)
    assert beats(world) == []
    world.executor.progress = Progress(0.01, (0.4,))
    world.pass_time(0.2)
    assert [value for _, value in beats(world)] == [(0.01, (0.4,))]
    # Progress is sent at most every two seconds, or with regular heartbeats.
    for step in range(30):
        world.executor.progress = Progress(0.1 + step / 40, (0.4,) * (step + 2))
        world.pass_time(0.5)
    times = [time for time, _ in beats(world)]
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(times))
    assert 7 <= len(times) <= 9
    assert beats(world)[-1][1] != (0.01, (0.4,))


def test_progress_causes_no_extra_requests_to_an_unavailable_server() -> None:
    world = World("60")
    world.pass_time(5)
    world.server.unavailable = True
    attempts = 0
    begin = world.calls.start

    def counted(function: Any) -> Any:
        nonlocal attempts
        attempts += 1
        return begin(function)

    world.calls.start = counted  # type: ignore[method-assign]
    for step in range(40):
        world.executor.progress = Progress(step / 40)
        world.pass_time(0.5)
    assert attempts <= 9


@pytest.mark.parametrize(
    "progress",
    [
        Progress(float("nan"), (float("nan"), float("inf"))),
        Progress(-1.0),
        Progress(7.0, (1e300,)),
        None,
    ],
)
def test_invalid_progress_is_omitted(progress: Any) -> None:
    world = World("15")
    world.executor.progress = progress
    world.pass_time(20)
    assert [value for _, value in beats(world)] == [(None, ())]
    assert world.server.verbs("complete") == ["complete"]


def test_invalid_metrics_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"f1": 0.5, "nan": float("nan"), "": 1.0, "a\nb": 1.0, "x" * 300: 1.0}
    many = {f"m{number}": 1.0 for number in range(100)}
    scored = Scored(0.5, {**metrics, **many}, [float("inf"), *[0.25] * 300])
    monkeypatch.setattr("support.workers.TimedTrial.poll", lambda _: scored)
    world = World("1")
    world.pass_time(3)
    reports: list[Any] = [
        value for _, verb, _, value in world.server.received if verb == "complete"
    ]
    ((score, received, scores),) = reports
    assert score == 0.5
    assert len(received) == 50
    assert received["f1"] == 0.5
    assert set(received) <= {"f1", *many}
    assert scores == [0.25] * 200


@pytest.mark.parametrize("model", ["1", "bad"])
def test_the_log_of_a_trial_is_sent_before_its_report(model: str) -> None:
    world = World(model)
    world.executor.printed = b"epoch 1\n"
    world.pass_time(5)
    (verb,) = world.server.verbs("complete", "fail")
    assert world.server.verbs("log", verb) == ["log", verb]
    assert [value for _, kind, _, value in world.server.received if kind == "log"] == [b"epoch 1\n"]


@pytest.mark.parametrize(
    "error", [ServiceError("no such route", 404), NotAllowed("no", 403), ValueError("odd")]
)
def test_a_log_that_cannot_be_sent_fails_no_trial(error: Exception) -> None:
    world = World("1", "1")
    world.executor.printed = b"epoch 1\n"
    world.server.failing["log"] = [error]
    world.pass_time(10)
    assert world.server.verbs("log", "complete") == ["complete", "log", "complete"]
    assert world.events("log") == ["could not upload the trial's log"]


def test_a_hanging_log_upload_is_not_waited_for() -> None:
    world = World("1")
    world.executor.printed = b"epoch 1\n"
    world.pass_time(0.5)
    world.calls.hold = True
    world.pass_time(2)
    assert len(world.calls.held) == 1
    world.calls.hold = False
    world.pass_time(LEASE_SECONDS / 4)
    assert world.server.verbs("log", "complete") == ["complete"]


# -- changing slots -----------------------------------------------------------------------------


def test_slots_are_devices_that_can_be_added_and_removed() -> None:
    world = World("100", "100", slots=["node-1-0", "node-2-0"])
    world.pass_time(5)
    assert set(world.server.devices_known) == {"node-1-0", "node-2-0"}
    world.executor.slot_names = ["node-2-0"]
    world.server.models = ["1"]
    world.pass_time(5)
    assert set(world.server.devices_known) == {"node-2-0"}
    assert world.server.verbs("release", "leave") == ["release", "leave"]
    assert len(world.executor.killed) == 1
    world.executor.slot_names = ["node-2-0", "node-3-0"]
    world.pass_time(5)
    assert set(world.server.devices_known) == {"node-2-0", "node-3-0"}
    assert world.server.verbs("complete") == ["complete"]  # the remaining trial
    world.worker.signalled()
    assert not world.pass_time(200)
    assert set(world.server.devices_known) == set()
    assert world.server.verbs("complete", "release") == ["release", "complete", "complete"]


def test_a_worker_without_slots_waits_until_it_is_signalled() -> None:
    world = World("1", slots=[])
    assert world.pass_time(30)
    world.executor.slot_names = ["node-1-0"]
    assert world.pass_time(5)
    assert world.server.verbs("complete") == ["complete"]
    world.executor.slot_names = []
    assert world.pass_time(30)
    assert world.server.verbs("leave") == ["leave"]
    world.worker.signalled()
    assert not world.pass_time(2)


def test_a_slot_that_returns_at_once_registers_again() -> None:
    world = World(slots=["node-1-0"])
    world.pass_time(3)
    world.executor.slot_names = []
    world.worker.step()
    world.pass_time(1)
    world.executor.slot_names = ["node-1-0"]
    world.pass_time(5)
    assert world.server.verbs("register", "leave") == ["register", "leave", "register"]
    assert set(world.server.devices_known) == {"node-1-0"}


def test_the_executor_is_closed_at_the_end() -> None:
    world = World("1", exit_when_idle=0.0)
    world.time.now = 5.0
    world.worker.signalled()
    world.worker.run()
    assert world.executor.closed
