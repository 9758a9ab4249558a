"""A server with short request timeouts, as a program: `python hasty_server.py PORT`."""

import socket
import sys

from bentham.http.app import create_app
from bentham.http.logs import configure_logs
from bentham.http.metrics import Metrics
from bentham.http.middleware import RequestLimits
from bentham.http.server import serve
from bentham.service import Service
from bentham.service.engine.engine import Engine, Settings
from bentham.service.fold.events import PoolCreated
from bentham.storage import MemoryFiles, MemoryLog
from bentham.training.catalog import load_catalog

SECONDS = 0.5

if __name__ == "__main__":
    configure_logs("debug")
    metrics = Metrics()
    engine = Engine(
        MemoryLog(), Settings(PoolCreated("joint", "none", 0, 3, 1.0)), observer=metrics
    )
    bounds = RequestLimits(header_seconds=SECONDS, body_seconds=SECONDS)
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
        service = Service(engine, MemoryFiles(), load_catalog())
        sys.exit(serve(service, create_app(service, metrics, bounds), listener, bounds))
