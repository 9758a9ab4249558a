"""Settings and fixtures for all tests: Hypothesis profiles, test order, and PostgreSQL.

Hypothesis draws new examples on a developer's machine and repeats the same ones in CI.
"""

import os
from collections.abc import Generator, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from support import numbers_only, quick, time_limit

if TYPE_CHECKING:
    from support.postgres import PostgresServer

numbers_only.install()
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
# The slowest tests, roughly by duration. They run first, so that no process is left with one of
# them at the end.
LONGEST = (
    "test_ray", "test_reproduce", "test_chaos", "test_demo", "test_docs", "test_tutorials",
    "test_learned_prior", "test_training_site", "test_bench_regret", "test_bench_service",
    "test_dashboard_story", "test_cli", "test_end_to_end",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quick`."""
    text = "run only tests that need no browser, no PostgreSQL, no Ray and no other process"
    parser.addoption("--quick", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of the tests that `--quick` leaves out."""
    for marker in quick.MARKERS:
        config.addinivalue_line("markers", marker)
    if config.getoption("quick"):
        quick.install()
    time_limit.install()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, do not even import files of which every test is left out."""
    if config.getoption("quick") and quick.is_wholly_outside(collection_path):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """With `--quick`, let no test start a process."""
    if not item.config.getoption("quick"):
        return (yield)
    with quick.watched(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Limit the time that the fixtures of a test take to start."""
    with time_limit.limited(f"the fixtures of {item.nodeid}", _seconds(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Limit the time that a test takes."""
    with time_limit.limited(item.nodeid, _seconds(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Limit the time that the fixtures of a test take to end."""
    with time_limit.limited(f"the end of {item.nodeid}", _seconds(item)):
        return (yield)


def _seconds(item: pytest.Item) -> float:
    return time_limit.QUICK_SECONDS if item.config.getoption("quick") else time_limit.SECONDS


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores: many tests wait for processes that they have started."""
    waiting = 0 if config.getoption("quick") else 1
    return (os.cpu_count() or 1) + waiting


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order each process's share: first its slowest tests, then the others in their order.

    pytest-xdist gives each process one contiguous run of tests. A process that has finished takes
    tests from the end of the run of the process with the most tests left. Tests on Ray stay
    together, since they share a cluster that takes long to start.
    """
    if items and items[0].config.getoption("quick"):
        left_out = [item for item in items if quick.is_outside(item)]
        items[0].config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not quick.is_outside(item)]
    places = {name: place for place, name in enumerate(LONGEST)}
    long = sorted(
        (item for item in items if item.path.stem in places),
        key=lambda item: places[item.path.stem],
    )
    together = [item for item in long if item.path.stem == LONGEST[0]]
    others = iter([item for item in items if item.path.stem not in places])
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [list(together), *([] for _ in range(processes - 1))]
    for place, item in enumerate(long[len(together) :], start=1):
        shares[place % processes].append(item)
    left = len(items)
    for place, share in enumerate(shares):
        size = left // (processes - place)  # as pytest-xdist distributes them
        share += islice(others, max(0, size - len(share)))
        left -= size
    items[:] = [*chain.from_iterable(shares), *others]


@pytest.fixture(scope="session")
def postgres() -> Iterator["PostgresServer"]:
    """A PostgreSQL server for the whole session, started by the first test that requests it."""
    from support.postgres import PostgresServer

    server = PostgresServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres: "PostgresServer") -> Iterator[str]:
    """An empty database."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)
