"""The quick tests: those that need no browser, no PostgreSQL, no Ray and no other process.

`pytest --quick` runs them. A test is left out if it is marked `outside`, or requests a fixture or
a parameter that needs one of these. What is left cannot start a process: it fails if it tries.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MARKER = "outside: needs a browser, PostgreSQL, Ray or another process; not part of `make quick`"
FIXTURES = {"postgres", "postgres_url", "chromium", "page", "visits", "site", "board"}
DATABASES = {"postgresql", "postgres"}
# Audit events of the interpreter that come before another process starts.
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec"}

_watching: list[str] = []  # the test that runs now


def is_outside(item: pytest.Item) -> bool:
    """Whether a test needs more than this process."""
    if item.get_closest_marker("outside") is not None:
        return True
    if FIXTURES & set(getattr(item, "fixturenames", ())):
        return True
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else callspec.params
    return any(isinstance(value, str) and value in DATABASES for value in given.values())


def install() -> None:
    """Refuse to start processes while a quick test runs."""
    sys.addaudithook(_refuse)


@contextmanager
def watched(item: pytest.Item) -> Iterator[None]:
    """Let a test start no process."""
    _watching.append(item.nodeid)
    try:
        yield
    finally:
        _watching.pop()


def _refuse(event: str, _: object) -> None:
    if _watching and event in STARTS:
        raise RuntimeError(
            f"{_watching[-1]} starts a process ({event}); mark it with @pytest.mark.outside"
        )
