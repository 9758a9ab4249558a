"""Runs the app: sockets, signals, graceful shutdown."""

import gc
import signal
import socket
import sys
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from bentham.http.middleware import RequestLimits
from bentham.http.protocol import protocol_within
from bentham.service import Service

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
MOST_CONNECTIONS = 2000
# Garbage collection is rarer than the default: a pool holds many long-lived objects.
GARBAGE = (20_000, 20, 50)
logger = structlog.get_logger("bentham.http")


class Server(uvicorn.Server):
    """Uvicorn that ends the requests of waiting devices and listeners when it begins to stop."""

    def __init__(self, config: uvicorn.Config, service: Service):
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and log the address."""
        await super().startup(sockets)
        for server in self.servers:
            for each in server.sockets:
                address, dashboard = addresses(*each.getsockname()[:2])
                logger.info("listening", address=address, dashboard=dashboard)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, and log when that begins and when it has ended."""
        signals = [signal.Signals(each).name for each in self._captured_signals]
        logger.info("stopping", **({"signal": signals[0]} if signals else {}))
        await super().shutdown(sockets)
        logger.info("stopped")

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        await super()._serve(sockets)
        # Otherwise uvicorn would raise the signal again after shutdown, as if it were not handled.
        self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully at the first signal, and at once at the second."""
        if not self.should_exit:
            self._service.begin_stop()
        super().handle_exit(sig, frame)


def addresses(host: str, port: int) -> tuple[str, str]:
    """Return the URL of a socket, and the URL of the dashboard on this machine."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    written, reached = (f"[{each}]" if ":" in each else each for each in (host, here))
    return f"http://{written}:{port}", f"http://{reached}:{port}/"


def server_of(service: Service, app: FastAPI, bounds: RequestLimits) -> Server:
    """Create a server; it does not run yet."""
    config = uvicorn.Config(
        app,
        http=protocol_within(bounds),
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # X-Forwarded-* headers are not trusted
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = Server(config, service)
    service.engine.fail = lambda: setattr(server, "should_exit", True)
    return server


def serve(service: Service, app: FastAPI, listener: socket.socket, bounds: RequestLimits) -> int:
    """Serve until a signal; return the exit code."""
    server = server_of(service, app, bounds)
    # Objects loaded by now stay; excluding them shortens the pauses of garbage collection.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return 0
    return 0 if server.started and not service.engine.failure else 2
