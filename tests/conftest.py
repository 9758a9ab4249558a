"""Hypothesis explores anew on a developer's machine, and repeats itself in CI."""

import os
from pathlib import Path

import pytest
from commands import Bentham, write_table
from hypothesis import settings

from bentham.tables import load_table

pytest_plugins = ["postgres"]
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture
def bentham(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bentham:
    """The command line."""
    monkeypatch.setenv("COLUMNS", "80")
    return Bentham(monkeypatch, capsys)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A real table of 12 studies x 8 models."""
    return write_table(tmp_path / "small.csv", load_table("oboe:8").only(range(0, 360, 30)))
