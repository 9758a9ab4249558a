"""The live service in this process: its app over any log, with a clock that the test controls.

The event loop runs only during a request, so nothing happens in the background. After the test
advances the clock, the next request sees the consequences.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import quote

import psycopg
import pytest
from fastapi import FastAPI

from bentham.http.app import create_app
from bentham.http.metrics import Metrics
from bentham.http.middleware import RequestLimits
from bentham.service import Service as BenthamService
from bentham.service.engine.engine import Engine, Settings
from bentham.service.engine.leases import Terms
from bentham.service.engine.scope import hash_of, new_token
from bentham.service.fold.events import PoolCreated, TokenIssued
from bentham.service.fold.pool import Pool
from bentham.service.jobs.fits import FitProcess
from bentham.service.jobs.whatifs import Forecaster
from bentham.storage import EventLog, MemoryDatabase, MemoryFiles, MemoryLog, open_log
from bentham.training.catalog import load_catalog
from support import inspections
from support.forecasters import in_process
from support.postgres import PostgresServer
from support.service_cast import Cast
from support.service_exchange import Answer, Exchange

inspections.install()
Result = TypeVar("Result")
LogMaker = Callable[[], EventLog]
NOON = 1_800_014_400.0  # a noon, UTC
DAY = 86_400.0
PATIENCE = 90.0  # timeout of one request, on a busy machine
FIRST = PoolCreated("joint", "none", 0, 3, 1.0)
UNLIMITED = RequestLimits(requests_per_second=0.0)


class FakeClock:
    """Wall clock and the monotonic clock of leases; `advance` moves both."""

    def __init__(self, now: float = NOON):
        self.now = self.moment = now

    def time(self) -> float:
        return self.now

    def instant(self) -> float:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.moment += seconds

    def set(self, now: float) -> None:
        """Set the wall clock exactly, without the rounding of an addition."""
        self.moment += max(0.0, now - self.now)
        self.now = now


class Service(Cast):
    """An instance and requests to it. `restart` stops it and starts another on the same log."""

    def __init__(
        self,
        make_log: LogMaker,
        clock: FakeClock | None = None,
        *,
        first: PoolCreated = FIRST,
        terms: Terms | None = None,
        patience: int | None = 10_000,
        bounds: RequestLimits = UNLIMITED,
        secure_cookies: bool = False,
        forecaster: Forecaster | None = None,
    ):
        self._make_log, self.clock = make_log, clock or FakeClock()
        self._first, self.terms, self._bounds = first, terms or Terms(), bounds
        self.patience, self._secure = patience, secure_cookies
        self._forecaster = forecaster or in_process(make_log)
        self._admin_id, self.admin = new_token()
        self._database, self.catalog = MemoryDatabase(), load_catalog()
        self._loop = asyncio.new_event_loop()
        self._requests = count(1)
        self.start()

    # -- start and stop

    def start(self, snapshot: Callable[[], None] | None = None) -> None:
        settings = Settings(self._first, self._issue, False, self.terms, self.patience)
        metrics = Metrics()
        self.engine = Engine(
            self._make_log(), settings, self.clock, metrics, snapshot, FitProcess()
        )
        files = MemoryFiles(self._database)
        service = BenthamService(
            self.engine, files, self.catalog, self._forecaster, metrics.latency
        )
        self.app: FastAPI = create_app(service, metrics, self._bounds, self._secure)
        self._life: AbstractAsyncContextManager[Any] = self.app.router.lifespan_context(self.app)

        async def begin() -> None:
            await self._life.__aenter__()
            while self.engine.phase != "serving":
                await asyncio.sleep(0.001)

        self.run(begin())

    def _issue(self) -> TokenIssued:
        return TokenIssued(self._admin_id, "admin", None, "", hash_of(self.admin), None)

    def stop(self) -> None:
        self.run(self._life.__aexit__(None, None, None))

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        if self.engine.phase != "stopped":
            self.stop()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Awaitable[Result]) -> Result:
        async def within() -> Result:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._loop.run_until_complete(within())

    @property
    def pool(self) -> Pool:
        return self.engine.working.pool

    # -- requests

    def begin(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = "",
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        open: bool = False,  # noqa: A002 - whether the rest of the body never arrives
    ) -> Exchange:
        """Send a request without waiting; with the admin's token, unless one (or None) is given."""
        sent = {"x-request-id": f"r{next(self._requests)}"}
        token = self.admin if token == "" else token
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        if key is not None:
            sent["idempotency-key"] = key
        data = body if isinstance(body, bytes) else b""
        if not isinstance(body, bytes) and body is not None:
            data = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        sent.update(headers or {})
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": method, "scheme": "http", "path": path,
            "raw_path": quote(path, safe="/%").encode(), "query_string": query.encode(),
            "root_path": "", "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
            "client": ("127.0.0.1", 1), "server": ("testserver", 80), "state": {},
        }  # fmt: skip

        async def launch() -> Exchange:
            exchange = Exchange(scope, data, open)
            app = self.app(scope, exchange.receive, exchange.send)
            exchange.task = asyncio.ensure_future(app)
            return exchange

        return self.run(launch())

    def finish(self, exchange: Exchange) -> Answer:
        assert exchange.task is not None
        self.run(exchange.task)
        return exchange.answer

    def until(self, condition: Callable[[], bool]) -> None:
        """Run the event loop until the condition is true."""

        async def wait() -> None:
            while not condition():
                await asyncio.sleep(0.001)

        self.run(wait())

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send one request and wait for the response."""
        return self.finish(self.begin(method, path, body, **options))

    def run_all(self, token: str, device: str, score: Callable[[Any], float]) -> list[Any]:
        """Run trials one after the other until none is left; return the leases."""
        leases = []
        while (lease := self.lease(token, device)) is not None:
            self.clock.advance(1.0)
            self.report(token, lease, score=score(lease)).ok()
            leases.append(lease)
        return leases


def api_routes(app: FastAPI) -> list[tuple[str, str]]:
    """Every method and path of the API, as registered in the app."""
    found: list[tuple[str, str]] = []
    pending: list[Any] = list(app.routes)
    while pending:
        route = pending.pop(0)
        inner = getattr(route, "original_router", None)
        if inner is not None:
            pending += inner.routes
        elif route.path.startswith("/v1") and route.path != "/v1/openapi.json":
            found += [(method, route.path) for method in sorted(route.methods)]
    return found


@dataclass
class Places:
    """Makes logs: each place is a separate database, which can be opened any number of times."""

    kind: str
    folder: Path
    server: PostgresServer | None
    _numbers: Iterator[int] = field(default_factory=count)

    def new(self) -> LogMaker:
        if self.kind == "memory":
            database = MemoryDatabase()
            return lambda: MemoryLog(database)
        if self.kind == "sqlite":
            folder = self.folder / f"place{next(self._numbers)}"
            return lambda: open_log(folder=folder)
        assert self.server is not None
        url = self.server.fresh()
        # Do not wait for the disk on thousands of commits: the storage tests cover that.
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
        return lambda: open_log(url)


KINDS = ("memory", "sqlite", "postgres")


def places_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> Places:
    server = request.getfixturevalue("postgres") if kind == "postgres" else None
    return Places(kind, folder, server)


@contextmanager
def serving(make_log: LogMaker | None = None, **options: Any) -> Iterator[Service]:
    """A service, by default with its log in memory."""
    service = Service(make_log or Places("memory", Path(), None).new(), **options)
    try:
        yield service
    finally:
        service.close()


@pytest.fixture
def service() -> Iterator[Service]:
    """A service in memory."""
    with serving() as started:
        yield started


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on an in-memory file system, if there is one: see Places.new."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, memory_folder: Path) -> Places:
    """Makes logs; each test runs on every kind of log."""
    return places_of(request.param, memory_folder, request)
