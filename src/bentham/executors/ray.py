"""Runs trials on a Ray cluster: each free CPU of its nodes is a device.

A slot is held by a small actor, which Ray starts on its node once a CPU is free there; it runs
trials under the same warden as the process executor. Nodes may join and die at any time. Nothing
is retried by Ray: the server's leases are the truth.

Every node needs the same versions of Python, Ray and Bentham, the same packages with algorithms,
and the programs of commands by the same path; data and the file of commands are sent to it. When
the head is away for a minute Ray ends this process and all that runs: then leases run out, and the
server has the trials run elsewhere, or here when the worker is started again.
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

FOLLOW_SECONDS = 1.0  # between looks at which nodes there are
LONGEST_PAUSE = 60.0  # before a slot that could not be made ready is tried again
LONGEST_PENDING = 320.0
MOST_SLOTS = 1000
MOST_TOLD = 1000  # different warnings, after which they are told again
PENDING_SECONDS = 20.0  # for a slot to be made ready at first, when others could be tried instead
KNOCK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node that lives, and how many trials it could run."""

    id: str
    address: str
    slots: int


class RayExecutor:
    """The slots of a Ray cluster, named PREFIX-NODE-0, PREFIX-NODE-1, ...; at most so many.

    `address` is that of a cluster ("auto": the one that this machine is part of; "local": start
    one here). `warn` is told what keeps a node from being used.
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
        self._ending: list[Slot] = []  # no devices any more, but their threads may still use Ray
        self._told: set[str] = set()
        self._tries: dict[str, tuple[int, float]] = {}  # how often in vain, and when again
        self._closing = threading.Event()
        self._follower = threading.Thread(target=self._follow, daemon=True, name="nodes of Ray")
        self._follower.start()

    def start(self, lease: Lease) -> RayTrial:
        """Begin a trial on the slot that is the lease's device."""
        trial = RayTrial(lease)
        with self._lock:
            slot = self._slots.get(lease.device)
        if slot is None:
            trial.finish(Declined(f"the slot {lease.device} is gone"))
        else:
            slot.take(trial)
        return trial

    def slots(self) -> Sequence[str]:
        """Those that are held, and whose nodes live."""
        with self._lock:
            return [name for name, slot in self._slots.items() if slot.ready]

    def close(self) -> None:
        """End all that runs, and free what is held of the cluster."""
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
        """Hold the slots of nodes that live, and let go those of nodes that died."""
        while not self._closing.wait(FOLLOW_SECONDS if self._slots else 0.1):
            try:
                nodes = living(self._ray.nodes())
            except Exception as error:
                self._warn(f"the nodes of the Ray cluster could not be listed: {error}")
                self._closing.wait(PATIENCE_SECONDS)
                continue
            self._follow_once(nodes)

    def _follow_once(self, nodes: Sequence[Node]) -> None:
        found = {
            f"{self._prefix}-{node.id[:8]}-{place}": node
            # One slot of each node first, so that few slots are spread over the nodes.
            for place in range(max((node.slots for node in nodes), default=0))
            for node in nodes
            if place < node.slots
        }
        for name, slot in list(self._slots.items()):
            if name not in found and not slot.over:
                slot.lose(f"the {slot.node} died")
            for problem in slot.problems:
                self._tell(f"on the {slot.node} algorithms are left out: {problem}")
            if slot.over:
                self._let_go(name, slot)
        self._tries = {name: tried for name, tried in self._tries.items() if name in found}
        now = time.monotonic()
        wanted = {
            name: node
            for name, node in found.items()
            if name not in self._slots and now >= self._tries.get(name, (0, 0.0))[1]
        }
        if wanted and len(self._slots) >= self._most:
            self._make_room(now)
        for name, node in wanted.items():
            if len(self._slots) < self._most:
                where = f"Ray node {node.id[:8]} ({node.address})"
                slot = Slot(name, where, self._placed(node), self._store)
                with self._lock:
                    self._slots[name] = slot

    def _make_room(self, now: float) -> None:
        """Where others might be free, a slot that nobody frees does not keep them out.

        Each time it gets longer, since a busy machine may only be slow to start it.
        """
        for name, slot in self._slots.items():
            tries = self._tries.get(name, (0, 0.0))[0]
            pending = doubled(PENDING_SECONDS, tries, LONGEST_PENDING)
            if not slot.ready and now > slot.since + pending:
                slot.lose(f"no CPU was free there for {pending:g} seconds")

    def _let_go(self, name: str, slot: Slot) -> None:
        with self._lock:
            del self._slots[name]
            self._ending = [each for each in [*self._ending, slot] if each.alive()]
        times = self._tries.get(name, (0, 0.0))[0] + 1 if slot.failure else 0
        if slot.failure:
            self._tell(f"the {slot.node} cannot be used: {slot.failure}")
        self._tries[name] = (times, time.monotonic() + doubled(1.0, times, LONGEST_PAUSE))

    def _tell(self, text: str) -> None:
        """Warn, once for all slots of a node."""
        if text not in self._told:
            if len(self._told) >= MOST_TOLD:
                self._told.clear()
            self._told.add(text)
            self._warn(text)

    def _placed(self, node: Node) -> Callable[[], Any]:
        """What makes the actor that holds a slot of a node."""
        strategy = self._strategy.NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {
            "num_cpus": 1,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": 4,  # to kill must not wait for a look
            "scheduling_strategy": strategy,
        }
        return lambda: self._actor.options(**options).remote(self._setup)


def doubled(first: float, times: int, most: float) -> float:
    """A time that doubles so often, up to a most; however often that is, in months of trying."""
    return min(most, first * 2.0 ** min(times, 30))


def load_ray() -> Any:
    """Ray, which is an extra."""
    # Else any late call would connect to a cluster again, if need be one of its own making.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise InvalidInput(
            f"Ray cannot be used here ({error}); install it with: pip install 'bentham[ray]'"
        ) from None


def connect(ray: Any, address: str) -> None:
    """Become part of a cluster, or start one for as long as this process lives."""
    if address == "local":
        # What Ray counts of its use is nobody's business unless the operator says so.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:
        raise InvalidInput(
            f"no Ray cluster could be reached at {address!r} ({error}); start one with: ray start "
            "--head, or have this machine join with: ray start --address HEAD:6379"
        ) from None


def _knock(address: str) -> None:
    """Raise at once where nobody listens: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()


def living(nodes: Sequence[dict[str, Any]]) -> list[Node]:
    """The nodes that live, of those that Ray lists, in an order that does not change."""
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
