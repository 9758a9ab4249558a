"""What the devices of a worker share: clock, log, the server's availability, stop requests."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bentham.client import Client
from bentham.errors import ServiceError, Unavailable
from bentham.executors import Executor
from bentham.worker.calls import BackgroundCalls

Clock = Callable[[], float]
Log = Any  # a structlog logger: a method per level, fields as keyword arguments
# How long to try to notify the server when stopping immediately, or when a device leaves.
LEAVE_SECONDS = 5.0


def steady_clock() -> float:
    """Return the time in seconds, including suspends of the machine where supported."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Link:
    """Tracks whether the server responds; logs once when it stops and once when it is back."""

    def __init__(self, log: Log, clock: Clock):
        self._log, self._clock = log, clock
        self._lost: float | None = None

    def lost(self, error: ServiceError) -> None:
        """Record that a call got no usable response."""
        if not isinstance(error, Unavailable):
            self._log.warning("server error", reason=str(error))
        elif self._lost is None and error.status != 429:
            self._lost = self._clock()
            self._log.warning("server unavailable", reason=str(error))

    def back(self) -> None:
        """Record that a call got a response."""
        if self._lost is not None:
            seconds = round(self._clock() - self._lost, 1)
            self._lost = None
            self._log.info("server available again", away_seconds=seconds)


@dataclass(slots=True)
class Stop:
    """Whether to stop: `draining` takes no new trials, `releasing` also releases running ones."""

    clock: Clock
    draining: bool = False
    releasing: bool = False
    _releasing_at: float = 0.0

    def drain(self) -> None:
        """Finish running trials and take no new ones."""
        self.draining = True

    def release(self) -> None:
        """Release running trials."""
        if not self.releasing:
            self.draining = self.releasing = True
            self._releasing_at = self.clock()

    def too_late(self) -> bool:
        """Whether the time to notify the server is over."""
        return self.releasing and self.clock() >= self._releasing_at + LEAVE_SECONDS


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What a device needs from its worker."""

    client: Client
    executor: Executor
    calls: BackgroundCalls
    log: Log
    clock: Clock
    link: Link
    stop: Stop
    wait: float
    chance: Callable[[], float] = field(default=random.random)
