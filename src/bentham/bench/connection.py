"""A minimal HTTP connection, so that benchmarks measure the server and not the client."""

import json
import socket
from typing import Any, NamedTuple

from bentham.errors import BenthamError


class Answer(NamedTuple):
    """The status and the body of a response; the body is None if empty."""

    status: int
    body: Any


class BareConnection:
    """One keep-alive connection to a server on this machine."""

    def __init__(self, port: int, token: str):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = (
            f" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\n"
        )
        self._unread = b""

    def post(self, path: str, body: Any, key: str = "") -> Answer:
        """Send a JSON body and wait for the response."""
        data = json.dumps(body).encode()
        key_header = f"Idempotency-Key: {key}\r\n" if key else ""
        head = f"POST {path}{self._headers}{key_header}Content-Length: {len(data)}\r\n\r\n"
        self._socket.sendall(head.encode() + data)
        return self._receive()

    def upload(self, path: str, data: bytes) -> Answer:
        """Upload a CSV table and wait for the response."""
        headers = self._headers.replace("application/json", "text/csv")
        self._socket.sendall(
            f"POST {path}{headers}Content-Length: {len(data)}\r\n\r\n".encode() + data
        )
        return self._receive()

    def get(self, path: str) -> Answer:
        """Send a GET request and wait for the response."""
        self._socket.sendall(f"GET {path}{self._headers}\r\n".encode())
        return self._receive()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _receive(self) -> Answer:
        data = self._unread
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._read()
        head = data[:end].lower()
        status = int(head[9:12])
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        while len(data) < end + 4 + length:
            data += self._read()
        body = data[end + 4 : end + 4 + length]
        self._unread = data[end + 4 + length :]
        return Answer(status, json.loads(body) if body else None)

    def _read(self) -> bytes:
        data = self._socket.recv(65536)
        if not data:
            raise BenthamError("the server closed the connection during the benchmark; see its log")
        return data
