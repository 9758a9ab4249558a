"""A time limit for each test: one that hangs fails, and the failure names it and where it hung.

A timer interrupts the test with an exception. A test that does not notice, because it waits in
code that is not Python's or catches every exception, ends the process a little later: its stack is
printed, and pytest-xdist names the test and runs the others in a new process.
"""

import faulthandler
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

QUICK_SECONDS, SECONDS = 60.0, 300.0  # many times what the slowest test takes
_GRACE = 30.0
_stderr = -1  # where a stack is printed: not where pytest captures the output of tests


def install() -> None:
    """Remember where the standard error output is, before it is captured."""
    global _stderr
    _stderr = os.dup(2)


@contextmanager
def limited(test: str, seconds: float) -> Iterator[None]:
    """Let a test fail if it takes longer than this."""

    def expire(*_: object) -> None:
        pytest.fail(f"{test} did not end within {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, expire)
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=_stderr)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, previous)
