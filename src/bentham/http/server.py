"""Runs the app: sockets, signals, a graceful end."""

import gc
import socket
import sys
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from bentham.http.middleware import Bounds
from bentham.http.protocol import protocol_within
from bentham.service import Service

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
MOST_CONNECTIONS = 2000
# Collections are rarer than Python's: a pool holds many objects that live for long.
GARBAGE = (20_000, 20, 50)
logger = structlog.get_logger("bentham.http")


class Server(uvicorn.Server):
    """Uvicorn that lets waiting devices and listeners go as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service):
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        for server in self.servers:
            for each in server.sockets:
                address, dashboard = addresses(*each.getsockname()[:2])
                logger.info("listening", address=address, dashboard=dashboard)

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        await super()._serve(sockets)
        # Else uvicorn would end the process by the signal, as if it had not been heeded.
        self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop; the second one stops at once."""
        if not self.should_exit:
            self._service.begin_stop()
        super().handle_exit(sig, frame)


def addresses(host: str, port: int) -> tuple[str, str]:
    """Where a socket listens, and where a browser on this machine finds the dashboard."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    written, reached = (f"[{each}]" if ":" in each else each for each in (host, here))
    return f"http://{written}:{port}", f"http://{reached}:{port}/"


def server_of(service: Service, app: FastAPI, bounds: Bounds) -> Server:
    """A server that is yet to run."""
    config = uvicorn.Config(
        app,
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
    server = Server(config, service)
    service.engine.fail = lambda: setattr(server, "should_exit", True)
    return server


def serve(service: Service, app: FastAPI, listener: socket.socket, bounds: Bounds) -> int:
    """Serve until a signal; returns the exit code."""
    server = server_of(service, app, bounds)
    # What is loaded by now stays: nobody should wait while it is searched for garbage.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return 0
    return 0 if server.started and not service.engine.failure else 2
