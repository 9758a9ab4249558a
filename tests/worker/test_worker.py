"""The worker: leases, heartbeats, reports, an unavailable server, and signals."""

from itertools import pairwise

import pytest
from support.workers import LEASE_SECONDS, World

from bentham.errors import InvalidInput, NotAllowed, Refused, ServiceError

KILL = 0.8 * LEASE_SECONDS


def test_a_trial_is_run_and_reported() -> None:
    world = World("5", "3")
    world.pass_time(30)
    assert world.server.verbs("register", "complete") == ["register", "complete", "complete"]
    scores = [value for _, verb, _, value in world.server.received if verb == "complete"]
    assert scores == [(0.5, {}, [])] * 2
    assert world.executor.started == ["5", "3"]
    assert world.executor.killed == []
    assert world.events("trial") == ["trial started", "trial complete"] * 2


def test_long_trials_are_kept_alive_by_heartbeats() -> None:
    world = World("300")
    world.pass_time(310)
    beats = [time for time, verb, _, _ in world.server.received if verb == "heartbeat"]
    assert len(beats) == 29
    gaps = [later - earlier for earlier, later in pairwise(beats)]
    assert max(gaps) < LEASE_SECONDS / 4 + 0.2
    assert world.server.verbs("complete") == ["complete"]


def test_every_device_runs_its_own_trial() -> None:
    world = World("5", "5", "5", devices=3)
    world.pass_time(5.5)
    assert world.server.verbs("complete") == ["complete"] * 3


@pytest.mark.parametrize(
    ("model", "reason", "final"),
    [
        ("nan", "the score is nan, not a finite number", True),
        ("bad", "no memory", False),
        ("faulty", "the executor failed: RuntimeError: poll", False),
    ],
)
def test_trials_without_a_score(model: str, reason: str, final: bool) -> None:
    world = World(model, "1")
    world.pass_time(5)
    assert [value for _, verb, _, value in world.server.received if verb == "fail"] == [
        (reason, final)
    ]
    assert world.server.verbs("complete") == ["complete"]  # the device continues


def test_a_trial_that_cannot_be_started_is_released_with_the_reason() -> None:
    world = World("crash", "1")
    world.pass_time(5)
    released = [value for _, verb, _, value in world.server.received if verb == "release"]
    assert released == [("could not be started: OSError: no such device", False)]
    assert world.server.verbs("fail", "complete") == ["complete"]  # the device continues


def test_a_device_that_cannot_start_trials_keeps_trying() -> None:
    world = World(*["crash"] * 1100, "1")
    world.pass_time(1100 * 60 + 100)
    assert world.server.verbs("release", "complete") == ["release"] * 1100 + ["complete"]
    times = [time for time, *_ in world.server.received]
    gaps = [after - before for before, after in pairwise(times)]
    assert max(gaps) < LEASE_SECONDS + 1.0  # silent for longer, it would be away


def test_the_log_names_the_study_and_rounds_the_score() -> None:
    world = World("1")
    world.executor.score = 0.12345678901234567
    world.pass_time(5)
    (line,) = [line for line in world.logged() if line["event"] == "trial complete"]
    assert (line["study"], line["score"]) == ("wine quality", 0.1235)


def test_a_score_that_the_server_refuses_fails_the_trial() -> None:
    world = World("1", "1")
    world.server.failing["complete"] = [Refused("score: too large", 422)]
    world.pass_time(5)
    assert world.server.verbs("fail", "complete") == ["fail", "complete"]


def test_an_idle_device_sends_few_requests() -> None:
    world = World()
    world.pass_time(100)
    assert len(world.server.verbs("lease")) <= 101
    assert {value for _, verb, _, value in world.server.received if verb == "lease"} == {20.0}


# -- an unavailable server ----------------------------------------------------------------------


def test_a_trial_is_killed_before_its_lease_runs_out() -> None:
    world = World("1000")
    world.pass_time(25)  # the last acknowledged heartbeat is sent at 20
    world.server.unavailable = True
    world.pass_time(60)
    ((killed, _),) = world.executor.killed
    beats = [time for time, verb, _, _ in world.server.received if verb == "heartbeat"]
    assert beats[-1] + KILL <= killed <= beats[-1] + KILL + 0.11
    assert killed < beats[-1] + LEASE_SECONDS
    world.server.lose()
    world.server.unavailable = False
    world.pass_time(20)
    assert world.server.verbs("release") == [
        "release"
    ]  # the server refuses it, because the lease has expired
    assert world.events("server") == ["server unavailable", "server available again"]
    assert world.events("dropped") == ["trial dropped"]


def test_a_heartbeat_without_a_response_does_not_keep_a_trial_alive() -> None:
    world = World("1000")
    world.pass_time(5)
    world.calls.hold = True
    world.pass_time(60)
    ((killed, _),) = world.executor.killed
    assert killed == pytest.approx(KILL, abs=0.11)


def test_a_lease_counts_from_the_sending_of_the_heartbeat() -> None:
    world = World("1000")
    world.pass_time(5)
    world.calls.hold = True
    world.pass_time(15)  # sent at 10, response at 20
    world.calls.held.pop().run()
    world.pass_time(60)
    ((killed, _),) = world.executor.killed
    assert killed == pytest.approx(10 + KILL, abs=0.3)


def test_after_a_long_stop_a_running_trial_is_killed_at_once() -> None:
    world = World("9999")
    world.pass_time(5)
    world.time.now += 3600  # SIGSTOP, SIGCONT
    world.server.lose()
    world.worker.step()
    assert world.executor.killed == [(world.time.now, "9999")]
    assert world.server.verbs("complete") == []


def test_after_a_long_stop_a_result_is_still_reported() -> None:
    world = World("20", "1")
    world.pass_time(5)
    world.time.now += 3600
    world.server.lose()
    world.pass_time(5)
    assert world.server.verbs("complete") == [
        "complete",
        "complete",
    ]  # 409, then that of the next trial
    assert world.events("trial dropped", "trial complete") == ["trial dropped", "trial complete"]


def test_a_result_waits_for_the_server() -> None:
    world = World("15")
    world.pass_time(12)
    world.server.unavailable = True
    world.pass_time(600)
    assert world.steps < 10_000  # no busy loop
    assert world.server.verbs("complete") == []
    world.server.unavailable = False
    world.pass_time(15)
    assert world.server.verbs("complete") == ["complete"]
    assert world.server.running == {}
    assert world.events("server") == ["server unavailable", "server available again"]


def test_the_worker_waits_for_a_server_that_is_not_started() -> None:
    world = World("1")
    world.server.unavailable = True
    world.pass_time(300)
    world.server.unavailable = False
    world.pass_time(15)
    assert world.server.verbs("complete") == ["complete"]


def test_lost_responses_duplicate_nothing() -> None:
    world = World("1", "1")
    world.server.responses_to_lose = 3
    world.pass_time(60)
    assert world.server.trials_begun == 2
    assert world.executor.started == ["1", "1"]
    assert world.events("trial complete") == ["trial complete"] * 2


def test_a_delayed_lease_is_confirmed_by_a_heartbeat_first() -> None:
    world = World("1")
    world.calls.hold = True
    world.worker.step()
    world.calls.held.pop().run()  # registered
    world.worker.step()
    request = world.calls.held.pop()
    world.time.now += 0.5 * LEASE_SECONDS
    request.run()
    world.worker.step()
    assert world.executor.started == []
    world.calls.held.pop().run()  # the heartbeat
    world.worker.step()
    assert world.executor.started == ["1"]


def test_a_slow_report_does_not_delay_heartbeats_of_other_devices() -> None:
    world = World("5", "1000", devices=2)
    world.pass_time(4.9)
    world.calls.hold = True
    world.pass_time(0.5)
    (report,) = world.calls.held  # pending from now on
    world.calls.hold = False
    world.pass_time(200)
    assert not report.done
    assert world.executor.killed == []
    assert len(world.server.verbs("heartbeat")) >= 19


def test_a_lost_trial_is_dropped() -> None:
    world = World("1000", "1")
    world.pass_time(5)
    world.server.lose()
    world.pass_time(10)
    assert [model for _, model in world.executor.killed] == ["1000"]
    assert world.server.verbs("complete", "release", "fail") == ["complete"]


def test_an_unknown_device_registers_again() -> None:
    world = World()
    world.pass_time(5)
    world.server.devices_known.clear()
    world.server.models = ["1"]
    world.pass_time(5)
    assert world.server.verbs("register", "complete") == ["register", "register", "complete"]


def test_two_workers_with_the_same_name() -> None:
    world = World("1000", "1")
    world.pass_time(5)
    world.server.lose()  # another worker registers the device and leases a trial
    world.server.devices_known["d-0"] = world.time.now
    world.server.running["t_0000000000000077"] = "d-0"
    with pytest.raises(InvalidInput, match=r"another worker uses the device name d-0.*--name"):
        world.pass_time(60)
    assert world.server.verbs("register", "complete") == ["register"]
    assert not world.server.verbs("leave")  # the device belongs to the other worker


def test_a_restored_database_that_says_the_device_runs_another_trial() -> None:
    world = World("1000", "1")
    world.pass_time(5)
    world.server.lose()  # the backup is older than the trial: it knows one that ended since
    world.server.running["t_0000000000000077"] = "d-0"
    world.pass_time(30)
    assert world.server.verbs("register", "complete") == ["register", "register", "complete"]


def test_server_errors_are_retried() -> None:
    world = World("1")
    for verb in ("register", "lease", "complete"):
        world.server.failing[verb] = [ServiceError("an error", 500)] * 3
    world.pass_time(20)
    assert world.server.verbs("complete") == ["complete"]


@pytest.mark.parametrize("when", [0, 5])
def test_a_revoked_token_ends_the_worker(when: float) -> None:
    world = World("1000", devices=2)
    world.pass_time(when)
    world.server.revoked = True
    with pytest.raises(NotAllowed, match=r"does not accept the token.*bentham token create"):
        world.pass_time(100)


# -- signals and the end ------------------------------------------------------------------------


def test_the_first_signal_drains() -> None:
    world = World("50", "1", "1")
    world.pass_time(5)
    world.worker.signalled()
    assert not world.pass_time(100)
    assert world.server.verbs("complete", "release", "leave") == ["complete", "leave"]
    assert len(world.server.verbs("heartbeat")) == 4  # still
    assert world.executor.started == ["50"]
    assert world.executor.killed == []


def test_the_second_signal_releases_trials() -> None:
    world = World("50", "50", devices=2)
    world.pass_time(5)
    world.worker.signalled()
    assert world.pass_time(1)
    world.worker.signalled()
    assert not world.pass_time(1)
    assert world.server.verbs("release", "leave") == ["release", "leave", "release", "leave"]
    assert len(world.executor.killed) == 2
    assert world.server.running == {}


def test_the_third_signal_ends_at_once() -> None:
    world = World("50")
    world.pass_time(5)
    for _ in range(3):
        world.worker.signalled()
    with pytest.raises(KeyboardInterrupt):
        world.worker.step()


def test_idle_devices_leave_without_waiting_for_their_lease_request() -> None:
    world = World()
    world.pass_time(0.5)
    world.calls.hold = True
    world.pass_time(1.5)
    assert len(world.calls.held) == 1
    world.calls.hold = False
    world.worker.signalled()
    assert not world.pass_time(1)
    assert world.server.verbs("leave") == ["leave"]


@pytest.mark.parametrize("signals", [1, 2])
def test_it_ends_while_the_server_is_unavailable(signals: int) -> None:
    world = World("1000" if signals == 2 else "1")
    world.pass_time(5)
    world.server.unavailable = True
    for _ in range(signals):
        world.worker.signalled()
    assert not world.pass_time(15)
    assert world.server.verbs("leave", "release") == []


def test_draining_still_reports_results() -> None:
    world = World("5")
    world.pass_time(4)
    world.server.unavailable = True
    world.worker.signalled()
    assert world.pass_time(30)
    world.server.unavailable = False
    assert not world.pass_time(15)
    assert world.server.verbs("complete", "leave") == ["complete", "leave"]


def test_it_ends_when_there_is_nothing_to_run() -> None:
    world = World("5", "30", devices=2, exit_when_idle=10.0)
    assert not world.pass_time(100)
    assert 40.0 <= world.time.now < 45.0
    assert world.server.verbs("complete", "leave") == ["complete", "complete", "leave", "leave"]
    assert {value for _, verb, _, value in world.server.received if verb == "lease"} == {10.0}


def test_an_unavailable_server_does_not_count_as_idle() -> None:
    world = World(exit_when_idle=5.0)
    world.pass_time(1)
    world.server.unavailable = True
    assert world.pass_time(60)
