"""Runs the app: sockets, signals, a graceful end."""

import gc
import socket
import sys
from types import FrameType

import structlog
import uvicorn

from bentham.http.app import create_app
from bentham.http.gate import Bounds
from bentham.http.metrics import Metrics
from bentham.http.protocol import protocol_within
from bentham.service.engine import Engine
from bentham.storage import Files
from bentham.training.catalog import Catalog

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
MOST_CONNECTIONS = 2000
# Collections are rarer than Python's: a pool holds many objects that live for long.
GARBAGE = (20_000, 20, 50)
logger = structlog.get_logger("bentham.http")


class Server(uvicorn.Server):
    """Uvicorn that lets waiting devices and listeners go as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, engine: Engine):
        super().__init__(config)
        self._engine = engine

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        for server in self.servers:
            for each in server.sockets:
                host, port = each.getsockname()[:2]
                logger.info("listening", address=f"http://{host}:{port}")

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        await super()._serve(sockets)
        # Else uvicorn would end the process by the signal, as if it had not been heeded.
        self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop; the second one stops at once."""
        if not self.should_exit:
            self._engine.begin_stop()
        super().handle_exit(sig, frame)


def serve(
    engine: Engine,
    metrics: Metrics,
    files: Files,
    catalog: Catalog,
    listener: socket.socket,
    bounds: Bounds | None = None,
) -> int:
    """Serve until a signal; returns the exit code."""
    bounds = bounds or Bounds()
    config = uvicorn.Config(
        create_app(engine, metrics, files, catalog, bounds),
        http=protocol_within(bounds),
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # who claims to ask for somebody else is not believed
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
    # What is loaded by now stays: nobody should wait while it is searched for garbage.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    server = Server(config, engine)
    engine.fail = lambda: setattr(server, "should_exit", True)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return 0
    return 0 if server.started and not engine.failure else 2
