"""Hypothesis explores anew on a developer's machine, and repeats itself in CI."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from canned import ROUTES
from clients import TOKEN
from commands import Bentham, write_table
from hypothesis import settings
from numbers_only import install
from servers import Canned
from sites import Site

from bentham.tables import load_table

pytest_plugins = ["postgres", "storage_contract", "service_app", "boards", "browsers"]
install()
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
# These take longest: begun first, none of them is left for one process in the end.
LONGEST = ("test_reproduce", "test_chaos", "test_ray", "test_docs", "test_demo", "test_tutorials")


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: many tests wait for what they have started."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest modules first, the others in their order."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture
def bentham(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bentham:
    """The command line."""
    monkeypatch.setenv("COLUMNS", "80")
    return Bentham(monkeypatch, capsys)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A real table of 12 studies x 8 models."""
    return write_table(tmp_path / "small.csv", load_table("oboe:8").only(range(0, 360, 30)))


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Canned]:
    """A server of canned answers, which commands find by the environment."""
    server = Canned(ROUTES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENTHAM_SERVER", server.address)
    monkeypatch.setenv("BENTHAM_TOKEN", TOKEN)
    monkeypatch.delenv("BENTHAM_TOKEN_FILE", raising=False)
    yield server
    server.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server that serves, in a folder of its own."""
    made = Site(tmp_path)
    try:
        with made.client() as admin:
            admin.overview()
        yield made
    finally:
        made.close()
