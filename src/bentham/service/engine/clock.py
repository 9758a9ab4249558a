"""The time: of day for what is recorded, and of a clock that never jumps for what runs out."""

import time
from typing import Protocol

import structlog

JUMP = 60.0
logger = structlog.get_logger("bentham.clock")


class Clock(Protocol):
    """Two clocks in one; tests bring their own."""

    def time(self) -> float:
        """Seconds since 1970."""

    def instant(self) -> float:
        """Seconds since some moment, never set back."""


class SystemClock:
    """The machine's. Should its time of day be set by more than a minute, that is not followed.

    What is recorded never goes back, so one wrong hour would be with us for good. Whoever sets the
    clock on purpose starts the server again.
    """

    def __init__(self) -> None:
        self._time, self._instant = time.time(), time.monotonic()
        self._astray = False

    def time(self) -> float:
        """Seconds since 1970."""
        now, instant = time.time(), time.monotonic()
        expected = self._time + instant - self._instant
        astray = abs(now - expected) > JUMP
        if astray != self._astray:
            self._astray = astray
            write = logger.error if astray else logger.info
            write(
                "the clock jumped; start the server again if that was meant"
                if astray
                else "the clock is back",
                seconds=round(now - expected, 1),
            )
        if astray:
            return expected
        self._time, self._instant = now, instant  # small corrections are followed
        return now

    def instant(self) -> float:
        """Seconds since some moment, never set back."""
        return time.monotonic()
