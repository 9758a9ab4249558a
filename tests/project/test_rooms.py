"""Every test is in a folder named after a part of Bentham, and imports only what it needs."""

import os
import subprocess
import sys

import pytest
from support.paths import PYTHONPATH, TESTS

# Numerical tests need no web framework, database or browser, and must not wait for their import.
WEB = ("starlette", "fastapi", "uvicorn", "httpx", "httpx2", "psycopg", "sqlalchemy", "playwright")
NUMERICAL = ("core", "simulator")
COLLECT = f"""
import sys, pytest
code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *sys.argv[1:]])
found = [name for name in {WEB!r} if name in sys.modules]
sys.exit(f"imported: {{found}}" if found else int(code))
"""


@pytest.mark.outside
def test_numerical_tests_import_no_web_framework() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, *(str(TESTS / folder) for folder in NUMERICAL)],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    for folder in NUMERICAL:
        assert f"tests/{folder}/test_" in done.stdout


def test_every_test_is_in_a_folder() -> None:
    assert not list(TESTS.glob("test_*.py"))
    assert not list((TESTS / "support").rglob("test_*.py"))
