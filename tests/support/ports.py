"""Ports for test servers."""

import random
import socket
from contextlib import suppress

PORTS = random.SystemRandom()


def free_port() -> int:
    """A free port below the ephemeral range, so that no outgoing connection takes it."""
    while True:
        port = PORTS.randrange(20_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
