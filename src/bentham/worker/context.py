"""What the devices of one worker share: clock, log, the link to the server, the wish to stop."""

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
Log = Any  # a logger of structlog: methods named by level, fields by keyword
# Once told to hurry, or with nothing left but to leave: how long a server may take to hear it.
FAREWELL_SECONDS = 5.0


def steady_clock() -> float:
    """Seconds that also pass while the machine is suspended, where the system can tell."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Link:
    """Notes whether the server answers: one line when it is lost, one when it is back."""

    def __init__(self, log: Log, clock: Clock):
        self._log, self._clock = log, clock
        self._lost: float | None = None

    def lost(self, error: ServiceError) -> None:
        """A call found no answer."""
        if not isinstance(error, Unavailable):
            self._log.warning("server error", reason=str(error))
        elif self._lost is None and error.status != 429:
            self._lost = self._clock()
            self._log.warning("server away", reason=str(error))

    def back(self) -> None:
        """A call was answered."""
        if self._lost is not None:
            away = round(self._clock() - self._lost, 1)
            self._lost = None
            self._log.info("server back", away_seconds=away)


@dataclass(slots=True)
class Stop:
    """How much the worker is to stop: `draining` takes no more trials, `hurried` runs none on."""

    clock: Clock
    draining: bool = False
    hurried: bool = False
    _hurried_at: float = 0.0

    def drain(self) -> None:
        """Finish what runs, take no more."""
        self.draining = True

    def hurry(self) -> None:
        """Give back what runs."""
        if not self.hurried:
            self.draining = self.hurried = True
            self._hurried_at = self.clock()

    def too_late(self) -> bool:
        """Whether even a farewell is to be left out."""
        return self.hurried and self.clock() >= self._hurried_at + FAREWELL_SECONDS


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """All that a device needs of its worker."""

    client: Client
    executor: Executor
    calls: BackgroundCalls
    log: Log
    clock: Clock
    link: Link
    stop: Stop
    wait: float
    chance: Callable[[], float] = field(default=random.random)
