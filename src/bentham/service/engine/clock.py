"""Clocks: the time of day for records, and a monotonic clock for what expires."""

import time
from typing import Protocol

import structlog

JUMP = 60.0
logger = structlog.get_logger("bentham.clock")


class Clock(Protocol):
    """The time of day and a monotonic clock; tests supply their own."""

    def time(self) -> float:
        """Return seconds since 1970."""

    def instant(self) -> float:
        """Return monotonic seconds since an arbitrary moment."""


class SystemClock:
    """The machine's clocks. Jumps of its time of day by more than a minute are ignored.

    Recorded times never decrease, so one wrong hour would affect all later records. After setting
    the clock on purpose, restart the server.
    """

    def __init__(self) -> None:
        self._time, self._instant = time.time(), time.monotonic()
        self._jumped = False

    def time(self) -> float:
        """Return seconds since 1970."""
        now, instant = time.time(), time.monotonic()
        expected = self._time + instant - self._instant
        jumped = abs(now - expected) > JUMP
        if jumped != self._jumped:
            self._jumped = jumped
            write = logger.error if jumped else logger.info
            write(
                "the clock jumped; restart the server if it was set on purpose"
                if jumped
                else "the clock is correct again",
                seconds=round(now - expected, 1),
            )
        if jumped:
            return expected
        self._time, self._instant = now, instant  # small corrections are accepted
        return now

    def instant(self) -> float:
        """Return monotonic seconds since an arbitrary moment."""
        return time.monotonic()
