"""The quick tests: those that need no browser, no PostgreSQL, no Ray and no other process.

`pytest --quick` runs them. A test is left out if it is marked `outside`, or requests a fixture or
a parameter that needs one of these. What is left cannot start a process: it fails if it tries. Two
dozen tests of about a second are marked `slow`, and left out, too.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import util
from pathlib import Path
from typing import Any

import pytest

MARKERS = (
    "outside: needs a browser, PostgreSQL, Ray or another process; not part of `make quick`",
    "slow: takes more than a second; not part of `make quick`",
)
FIXTURES = {"postgres", "postgres_url", "chromium", "page", "visits", "site", "board"}
DATABASES = {"postgresql", "postgres"}
# Audit events of the interpreter that come before another process starts.
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec"}

_WHOLE_FILE = re.compile(r"^pytestmark = (\[\n    )?pytest\.mark\.outside\b", re.MULTILINE)
_watching: list[str] = []  # the test that runs now


def is_outside(item: pytest.Item) -> bool:
    """Whether a test needs more than this process, or too much time."""
    if any(item.get_closest_marker(name) is not None for name in ("outside", "slow")):
        return True
    if FIXTURES & set(getattr(item, "fixturenames", ())):
        return True
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else callspec.params
    return any(isinstance(value, str) and value in DATABASES for value in given.values())


def is_wholly_outside(path: Path) -> bool:
    """Whether a file marks all its tests, by `pytestmark = pytest.mark.outside` or a list."""
    if not (path.name.startswith("test_") and path.suffix == ".py"):
        return False
    return bool(_WHOLE_FILE.search(path.read_text(encoding="utf-8")))


def install() -> None:
    """Refuse to start processes while a quick test runs."""
    sys.addaudithook(_refuse)
    # multiprocessing starts its processes by a function of C that raises no audit event.
    spawn = util.spawnv_passfds

    def checked_spawn(*arguments: Any) -> int:
        _refuse("os.spawn", arguments)
        return spawn(*arguments)

    setattr(util, "spawnv_passfds", checked_spawn)  # noqa: B010 - not assignable by its type


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
