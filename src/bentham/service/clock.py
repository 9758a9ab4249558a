"""The time: of day for what is recorded, and of a clock that never jumps for what runs out."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks in one; tests bring their own."""

    def time(self) -> float:
        """Seconds since 1970."""

    def instant(self) -> float:
        """Seconds since some moment, never set back."""


class SystemClock:
    """The machine's."""

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def instant(self) -> float:
        """Seconds since some moment, never set back."""
        return time.monotonic()
