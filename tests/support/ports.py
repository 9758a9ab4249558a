"""Ports for servers of tests."""

import random
import socket
from contextlib import suppress

PORTS = random.SystemRandom()


def free_port() -> int:
    """A port that stays free while nobody listens: whoever connects is given a higher one."""
    while True:
        port = PORTS.randrange(20_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
