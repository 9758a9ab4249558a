"""Tests are in rooms, each of which imports what it needs and no more."""

import os
import subprocess
import sys

from support.paths import PYTHONPATH, TESTS

# No test of numbers needs a web framework, a database or a browser, and none waits for its import.
WEB = ("starlette", "fastapi", "uvicorn", "httpx", "httpx2", "psycopg", "sqlalchemy", "playwright")
NUMERICAL = ("core", "simulator")
COLLECT = f"""
import sys, pytest
code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *sys.argv[1:]])
found = [name for name in {WEB!r} if name in sys.modules]
sys.exit(f"imported: {{found}}" if found else int(code))
"""


def test_numerical_tests_import_no_web_framework() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, *(str(TESTS / room) for room in NUMERICAL)],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    for room in NUMERICAL:
        assert f"tests/{room}/test_" in done.stdout


def test_every_test_is_in_a_room() -> None:
    assert not list(TESTS.glob("test_*.py"))
    assert not list((TESTS / "support").rglob("test_*.py"))
