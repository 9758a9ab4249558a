"""The live service in a thread of this process: a real server on a real port, for a browser.

Its log is in memory and it needs no separate process, so each test can have one.
"""

import asyncio
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection
from typing import Any

import pytest
import uvloop

from bentham.http.app import create_app
from bentham.http.metrics import Metrics
from bentham.http.server import Server, server_of
from bentham.service import Service
from bentham.service.engine.clock import Clock
from bentham.service.engine.engine import Engine, Settings
from bentham.service.engine.leases import Terms
from bentham.service.engine.scope import hash_of, new_token
from bentham.service.fold.events import TokenIssued
from bentham.service.jobs.fits import FitProcess
from bentham.storage import MemoryDatabase, MemoryFiles, MemoryLog
from bentham.training.catalog import load_catalog
from support.forecasters import in_process
from support.ports import free_port
from support.service_app import FIRST, UNLIMITED
from support.service_cast import Cast
from support.service_exchange import Answer

PATIENCE = 30.0


class Board(Cast):
    """A server and requests to it. Its state survives `stop` and `start`."""

    def __init__(self, clock: Clock | None = None, terms: Terms | None = None) -> None:
        # The devices of tests show no signs of life while a page is looked at.
        self._clock, self._terms = clock, terms or Terms(away_seconds=3600.0)
        self._database, self._catalog = MemoryDatabase(), load_catalog()
        self._admin_id, self.admin = new_token()
        self._server: Server | None = None
        self.port = free_port()
        self.start()

    @property
    def address(self) -> str:
        """The URL for a browser."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Serve; always at the same address."""
        metrics = Metrics()
        settings = Settings(FIRST, self._issue, terms=self._terms)
        engine = Engine(self._log(), settings, self._clock, metrics, fits=FitProcess())
        files = MemoryFiles(self._database)
        service = Service(engine, files, self._catalog, in_process(self._log), metrics.latency)
        server = server_of(service, create_app(service, metrics, UNLIMITED), UNLIMITED)
        listener = socket.create_server(("127.0.0.1", self.port))
        self._server = server
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._serve, args=(server, listener))
        self._thread.start()
        wait_for(lambda: server.started and engine.ready)

    def _log(self) -> MemoryLog:
        return MemoryLog(self._database)

    def _serve(self, server: Server, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(server.serve(sockets=[listener]))

    def stop(self) -> None:
        """Stop serving and close all streams."""
        if self._server is not None:
            self._loop.call_soon_threadsafe(self._server.handle_exit, signal.SIGTERM, None)
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()
            self._server = None

    def _issue(self) -> TokenIssued:
        return TokenIssued(self._admin_id, "admin", None, "", hash_of(self.admin), None)

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send one request over a new connection; `options` are those of `Service.begin`."""
        return self._exchange(method, path, body, **options)

    def _exchange(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        token: str | None = "",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Answer:
        sent = {} if key is None else {"idempotency-key": key}
        if token is not None:
            sent["authorization"] = f"Bearer {token or self.admin}"
        if not isinstance(body, bytes) and body is not None:
            body = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            target = f"{path}?{query}" if query else path
            connection.request(method, target, body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, fields, answer.read())
        finally:
            connection.close()

    def run(
        self, token: str, device: str, score: Callable[[Any], float], limit: int | None = None
    ) -> list[Any]:
        """Run trials until none is left, or `limit` have completed; return their leases."""
        leases: list[Any] = []
        while limit is None or len(leases) < limit:
            lease = self.lease(token, device)
            if lease is None:
                break
            self.report(token, lease, score=score(lease)).ok()
            leases.append(lease)
        return leases


def wait_for(condition: Callable[[], object]) -> None:
    """Poll until the condition is true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.005)


@pytest.fixture
def board() -> Iterator[Board]:
    """An empty server for one test."""
    server = Board()
    try:
        yield server
    finally:
        server.stop()
