"""Training data in Ray's object store: fetched once for all nodes and slots."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bentham.errors import InvalidInput
from bentham.executors.data import Locks
from bentham.executors.process import Fetch
from bentham.wire import Lease, Training

LARGEST_CACHE = 2**30  # maximum size of the cached data, in bytes


class ObjectStore:
    """References to data by its SHA-256; the least recently used are dropped.

    Nodes have their own caches of files, so dropped data is rarely needed again. Ray keeps data
    that a trial still needs until the trial has it.
    """

    def __init__(self, fetch: Fetch, largest: int = LARGEST_CACHE):
        self._fetch, self._largest = fetch, largest
        self._ray: Any = import_module("ray")
        self._lock = threading.Lock()
        self._fetching = Locks()
        self._cached: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def put(self, lease: Lease, cancelled: Callable[[], bool]) -> Any:
        """Return a reference to a lease's data, None if it needs none; raises if it is wrong."""
        training = lease.training
        if training is None:
            return None
        with self._fetching.of(training.hash):
            with self._lock:
                if training.hash in self._cached:
                    self._cached.move_to_end(training.hash)
                    return self._cached[training.hash][0]
            reference = self._ray.put(self._fetched(lease, training, cancelled))
            with self._lock:
                self._cached[training.hash] = (reference, training.bytes)
                total = sum(size for _, size in self._cached.values())
                while total > self._largest and len(self._cached) > 1:
                    _, (_, size) = self._cached.popitem(last=False)
                    total -= size
            return reference

    def _fetched(self, lease: Lease, training: Training, cancelled: Callable[[], bool]) -> bytes:
        """Fetch the content, and verify it here so that no node gets wrong data."""
        content = bytearray()
        for chunk in self._fetch(lease):
            if cancelled():
                raise InvalidInput("the data is no longer needed")
            content += chunk
            if len(content) > training.bytes:
                break
        if hashlib.sha256(content).hexdigest() != training.hash:
            raise InvalidInput(
                f"the data of {training.name!r} is wrong: expected {training.bytes:,} bytes with "
                f"SHA-256 {training.hash[:12]}..., received {len(content):,} or more with another"
            )
        return bytes(content)
