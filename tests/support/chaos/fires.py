"""The fault scenarios: each injects one kind of fault, then lets all work finish."""

import signal
import time
from collections import Counter

from support.chaos.arena import UP_SECONDS, Arena
from support.chaos.fleet import RealWorker
from support.chaos.ledger import Answered
from support.chaos.proxy import Mischief
from support.postgres import PostgresServer

NETWORK_FAULTS = Mischief(delay=0.1, cut_before=0.05, cut_after=0.1, double=0.1, late=0.1)
DEVICES = 8


def kill_servers(arena: Arena, kills: int) -> None:
    """Kill the server with SIGKILL, `kills` times in all, with two devices of the real worker."""
    arena.kill_starting(3)
    arena.server.start()
    arena.open(quick=DEVICES - 2, real=[2])
    arena.kill_serving(2)
    arena.warm_up()
    arena.kill_serving(kills - arena.kills)
    arena.finish()


def kill_and_freeze_workers(arena: Arena, rounds: int, frozen_seconds: float) -> Counter[str]:
    """Workers die before their first heartbeat, or freeze beyond their lease, and return."""
    arena.server.start()
    arena.open(quick=DEVICES - 5, real=[])
    frozen, killed, leaving = (arena.add_worker(devices, scale=0.2) for devices in (2, 2, 1))
    arena.ledger.await_response(lambda response: leases_to(frozen, response), UP_SECONDS)
    for _ in range(rounds):
        arena.ledger.await_response(lambda response: leases_to(killed, response), UP_SECONDS)
        killed.kill()  # right after it received its lease
        arena.ledger.await_response(lambda response: leases_to(frozen, response), UP_SECONDS)
        frozen.send(signal.SIGSTOP)
        time.sleep(frozen_seconds / 2.0)
        killed.start()  # under the same names: its trials are lost, and it gets new ones
        time.sleep(frozen_seconds / 2.0)
        frozen.send(signal.SIGCONT)
    arena.ledger.await_response(lambda response: leases_to(leaving, response), UP_SECONDS)
    leaving.kill()  # not started again: its lease expires
    arena.real.remove(leaving)
    arena.snapshot()
    refused = arena.ledger.statuses[409]
    arena.finish()
    lost = sum(trial["state"] == "lost" for trial in arena.trials())
    return Counter({"late reports refused": refused, "trials lost": lost})


def leases_to(worker: RealWorker, response: Answered) -> bool:
    """Whether the response is a lease for a device of the worker."""
    return response.kind == "lease" and worker.runs(response.body["device"])


def disturb_network(arena: Arena, trials: int) -> None:
    """The network delays, drops before or after execution, and duplicates requests."""
    arena.server.start(cold=True)
    arena.open(quick=DEVICES - 2, real=[2])
    arena.proxy.mischief = NETWORK_FAULTS
    assert arena.ledger.await_count("complete", trials // 2, UP_SECONDS), "too few results"
    arena.snapshot()
    assert arena.ledger.await_count("complete", trials, UP_SECONDS), "too few results"
    arena.proxy.mischief = Mischief()
    arena.finish()


def kill_database(arena: Arena, postgres: PostgresServer, times: int) -> None:
    """Kill PostgreSQL with all its processes, and start it again after a while."""
    arena.server.start()
    arena.open(quick=DEVICES - 2, real=[2])
    for _ in range(times):
        done = arena.ledger.counts["complete"]
        assert arena.ledger.await_count("complete", done + 20, UP_SECONDS), "too few results"
        arena.snapshot()
        arena.await_snapshot()
        time.sleep(arena.random.uniform(0.0, 0.1))
        postgres.kill()
        time.sleep(arena.random.uniform(0.0, 1.0))
        postgres.start()
    done = arena.ledger.counts["complete"]
    assert arena.ledger.await_count("complete", done + 20, UP_SECONDS), "too few results"
    arena.finish()


def kill_leaders(arena: Arena, rounds: int) -> dict[str, float]:
    """Two instances on one database: the leader is killed, or freezes and returns.

    Returns the longest time of each kind of takeover.
    """
    longest = {"killed": 0.0, "frozen": 0.0}
    for instance in arena.instances:
        instance.start()
    arena.open(quick=DEVICES - 2, real=[2])
    for number in range(2 * rounds):
        arena.snapshot()
        done = arena.ledger.counts["complete"]
        assert arena.ledger.await_count("complete", done + 20, UP_SECONDS), "too few results"
        leader, other = sorted(arena.instances, key=lambda each: each.phase() != "serving")
        assert leader.phase() == "serving"
        assert other.await_phase("standby", UP_SECONDS)
        kind = "frozen" if number % 2 else "killed"
        began = time.monotonic()
        if kind == "killed":
            leader.kill()
        else:
            leader.send(signal.SIGSTOP)
        assert other.await_phase("serving", UP_SECONDS), f"no instance took over ({kind})"
        longest[kind] = max(longest[kind], time.monotonic() - began)
        done = arena.ledger.counts["complete"]
        assert arena.ledger.await_count("complete", done + 20, UP_SECONDS), "too few results"
        if kind == "killed":
            leader.start()
        else:
            leader.send(signal.SIGCONT)
        assert leader.await_phase("standby", UP_SECONDS), "the old leader kept the lead"
        assert other.phase() == "serving"
    arena.finish()
    return longest
