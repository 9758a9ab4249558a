"""Runs the app: sockets, signals, a graceful end."""

import sys
from types import FrameType

import uvicorn

from bentham.http.app import create_app
from bentham.http.gate import Bounds
from bentham.http.metrics import Metrics
from bentham.http.protocol import protocol_within
from bentham.service.engine import Engine

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
MOST_CONNECTIONS = 2000


class Server(uvicorn.Server):
    """Uvicorn that lets waiting devices and listeners go as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, engine: Engine):
        super().__init__(config)
        self._engine = engine

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop; the second one stops at once."""
        if not self.should_exit:
            self._engine.begin_stop()
        super().handle_exit(sig, frame)


def serve(
    engine: Engine, metrics: Metrics, host: str, port: int, bounds: Bounds | None = None
) -> int:
    """Serve until a signal; returns the exit code."""
    bounds = bounds or Bounds()
    config = uvicorn.Config(
        create_app(engine, metrics, bounds),
        host=host,
        port=port,
        http=protocol_within(bounds),
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=1024,
    )
    server = Server(config, engine)
    try:
        server.run()
    except KeyboardInterrupt:
        return 0
    return 0 if server.started else 2
