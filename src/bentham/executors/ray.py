"""Runs trials on a Ray cluster: each free CPU of its nodes is a device.

A slot is held by a small actor, which Ray starts on its node once a CPU is free there. The actor
runs trials under the same warden as the process executor. Nodes may join and die at any time. Ray
retries nothing: only the server's leases decide what runs.

Every node needs the same versions of Python, Ray and Bentham, the same algorithm packages, and the
programs of commands at the same paths. Data and the file of commands are sent to the nodes. If the
head is unreachable for a minute, Ray ends this process and everything it runs. The leases then
expire, and the server assigns the trials to other workers, or to this one once it is restarted.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from bentham.errors import InvalidInput
from bentham.executors.base import Declined
from bentham.executors.process import PATIENCE_SECONDS, Fetch
from bentham.executors.ray_data import ObjectStore
from bentham.executors.ray_host import Setup, SlotHost
from bentham.executors.ray_slot import RayTrial, Slot
from bentham.wire import Lease

FOLLOW_SECONDS = 1.0  # between updates of the list of nodes
LONGEST_PAUSE = 60.0  # maximum time before a slot that failed to start is retried
LONGEST_PENDING = 320.0  # maximum timeout for a slot to start, after several attempts
MOST_SLOTS = 1000
MOST_WARNINGS = 1000  # distinct warnings that are remembered; beyond that they may be repeated
PENDING_SECONDS = 20.0  # first timeout for a slot to start, if others could be tried instead
REACH_SECONDS = 10.0  # timeout for a first connection to the head


@dataclass(frozen=True, slots=True)
class Node:
    """A live node, and the number of trials it can run."""

    id: str
    address: str
    slots: int


class RayExecutor:
    """The slots of a Ray cluster, named PREFIX-NODE-0, PREFIX-NODE-1, ...; at most `most`.

    `address` is the address of a cluster ("auto": the one that this machine is part of; "local":
    start one here). `warn` is called with the reason when a node cannot be used.
    """

    def __init__(
        self,
        setup: Setup,
        fetch: Fetch,
        *,
        address: str = "auto",
        prefix: str = "ray",
        most: int | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ):
        self._ray = load_ray()
        self._strategy = import_module("ray.util.scheduling_strategies")
        self._setup, self._prefix, self._warn = setup, prefix, warn
        self._most = MOST_SLOTS if most is None else most
        self._connected_here = not self._ray.is_initialized()
        if self._connected_here:
            connect(self._ray, address)
        self._store = ObjectStore(fetch)
        self._actor = self._ray.remote(SlotHost)
        self._lock = threading.Lock()
        self._slots: dict[str, Slot] = {}
        self._ending: list[Slot] = []  # no longer devices, but their threads may still use Ray
        self._warned: set[str] = set()
        self._tries: dict[str, tuple[int, float]] = {}  # failed attempts, and the time of the next
        self._closing = threading.Event()
        self._follower = threading.Thread(target=self._follow, daemon=True, name="nodes of Ray")
        self._follower.start()

    def start(self, lease: Lease) -> RayTrial:
        """Start a trial on the slot that is the lease's device."""
        trial = RayTrial(lease)
        with self._lock:
            slot = self._slots.get(lease.device)
        if slot is None:
            trial.finish(Declined(f"the slot {lease.device} no longer exists"))
        else:
            slot.take(trial)
        return trial

    def slots(self) -> Sequence[str]:
        """Return the names of the slots that are ready."""
        with self._lock:
            return [name for name, slot in self._slots.items() if slot.ready]

    def close(self) -> None:
        """End all running trials, and release the CPUs of the cluster."""
        if self._closing.is_set():
            return
        self._closing.set()
        until = time.monotonic() + 2.0 * PATIENCE_SECONDS
        self._follower.join(PATIENCE_SECONDS)
        with self._lock:
            slots = [*self._slots.values(), *self._ending]
        for slot in slots:
            slot.close()
        for slot in slots:
            slot.wait(max(0.0, until - time.monotonic()))
        if self._connected_here:
            self._ray.shutdown()

    def _follow(self) -> None:
        """Hold the slots of live nodes, and release those of nodes that died."""
        while not self._closing.wait(FOLLOW_SECONDS if self._slots else 0.1):
            try:
                nodes = living(self._ray.nodes())
            except Exception as error:
                self._warn(f"the nodes of the Ray cluster could not be listed: {error}")
                self._closing.wait(PATIENCE_SECONDS)
                continue
            self._update_slots(nodes)

    def _update_slots(self, nodes: Sequence[Node]) -> None:
        found = {
            f"{self._prefix}-{node.id[:8]}-{place}": node
            # The first slot of every node comes first, which spreads few slots over the nodes.
            for place in range(max((node.slots for node in nodes), default=0))
            for node in nodes
            if place < node.slots
        }
        for name, slot in list(self._slots.items()):
            if name not in found and not slot.over:
                slot.lose(f"the {slot.node} died")
            for problem in slot.problems:
                self._warn_once(f"on the {slot.node}, algorithms are left out: {problem}")
            if slot.over:
                self._remove_slot(name, slot)
        self._tries = {name: tries for name, tries in self._tries.items() if name in found}
        now = time.monotonic()
        missing = {
            name: node
            for name, node in found.items()
            if name not in self._slots and now >= self._tries.get(name, (0, 0.0))[1]
        }
        if missing and len(self._slots) >= self._most:
            self._make_room(now)
        for name, node in missing.items():
            if len(self._slots) < self._most:
                where = f"Ray node {node.id[:8]} ({node.address})"
                slot = Slot(name, where, self._actor_creator(node), self._store)
                with self._lock:
                    self._slots[name] = slot

    def _make_room(self, now: float) -> None:
        """Give up slots that have waited too long for a CPU, since others may have a free one.

        The timeout doubles with each attempt, because a busy machine may only be slow to start.
        """
        for name, slot in self._slots.items():
            tries = self._tries.get(name, (0, 0.0))[0]
            pending = doubled(PENDING_SECONDS, tries, LONGEST_PENDING)
            if not slot.ready and now > slot.since + pending:
                slot.lose(f"no CPU was free there for {pending:g} seconds")

    def _remove_slot(self, name: str, slot: Slot) -> None:
        with self._lock:
            del self._slots[name]
            self._ending = [each for each in [*self._ending, slot] if each.alive()]
        times = self._tries.get(name, (0, 0.0))[0] + 1 if slot.failure else 0
        if slot.failure:
            self._warn_once(f"the {slot.node} cannot be used: {slot.failure}")
        self._tries[name] = (times, time.monotonic() + doubled(1.0, times, LONGEST_PAUSE))

    def _warn_once(self, text: str) -> None:
        """Emit a warning only once, not for every slot of a node."""
        if text not in self._warned:
            if len(self._warned) >= MOST_WARNINGS:
                self._warned.clear()
            self._warned.add(text)
            self._warn(text)

    def _actor_creator(self, node: Node) -> Callable[[], Any]:
        """Return a function that creates the actor for a slot of a node."""
        strategy = self._strategy.NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {
            "num_cpus": 1,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": 4,  # a call of `end` must not wait for a call of `status`
            "scheduling_strategy": strategy,
        }
        return lambda: self._actor.options(**options).remote(self._setup)


def doubled(first: float, times: int, most: float) -> float:
    """Return `first` doubled `times` times, at most `most`; does not overflow for many times."""
    return min(most, first * 2.0 ** min(times, 30))


def load_ray() -> Any:
    """Import Ray, an optional dependency."""
    # Otherwise a late call would connect to a cluster again, or even start one.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise InvalidInput(
            f"Ray cannot be used here ({error}); install Bentham with its extra 'ray': pip install "
            "'.[ray]' in its source folder"
        ) from None


def connect(ray: Any, address: str) -> None:
    """Connect to a cluster, or start one that lives as long as this process."""
    if address == "local":
        # Ray's usage statistics are off unless the operator enables them.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        _check_reachable(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **options)
    except Exception as error:
        raise InvalidInput(
            f"no Ray cluster could be reached at {address!r} ({error}); start one with: ray start "
            "--head, or have this machine join with: ray start --address HEAD:6379"
        ) from None


def _check_reachable(address: str) -> None:
    """Raise at once if nothing listens at the address: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()


def living(nodes: Sequence[dict[str, Any]]) -> list[Node]:
    """Return the live nodes among those that Ray lists, in a stable order."""
    found = [
        Node(
            str(node["NodeID"]),
            str(node.get("NodeManagerAddress", "")),
            int(node.get("Resources", {}).get("CPU", 0.0)),
        )
        for node in nodes
        if node.get("Alive")
    ]
    return sorted(found, key=lambda node: node.id)
