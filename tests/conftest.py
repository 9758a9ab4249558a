"""Hypothesis explores anew on a developer's machine, and repeats itself in CI."""

import os

import pytest
from commands import Bentham
from hypothesis import settings

settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


@pytest.fixture
def bentham(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bentham:
    """The command line."""
    monkeypatch.setenv("COLUMNS", "80")
    return Bentham(monkeypatch, capsys)
