"""Servers for tests of the client: one of raw sockets, for what a good server never does."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PROBLEM = b'{"title": "Busy", "status": 503, "detail": "the storage is away"}'


def reply(status: int, body: bytes = b"", *headers: str, kind: str = "application/json") -> bytes:
    """A whole answer, after which the connection is closed."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    if body:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


class Scripted:
    """Answers each connection with the next bytes of a script, and keeps what it was asked."""

    def __init__(self, answers: Sequence[bytes]):
        self.asked: list[str] = []
        self._answers = list(answers)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def keys(self) -> list[str]:
        """The idempotency keys of the requests."""
        lines = [line for text in self.asked for line in text.splitlines()]
        return [line.split(": ")[1] for line in lines if line.lower().startswith("idempotency-key")]

    def close(self) -> None:
        """End, when all answers were given or none is wanted any more."""
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        for answer in self._answers:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.asked.append(_read_request(connection))
                connection.sendall(answer)


@contextmanager
def scripted(*answers: bytes) -> Iterator[Scripted]:
    """A server that gives these answers, one per connection."""
    server = Scripted(answers)
    try:
        yield server
    finally:
        server.close()


def _read_request(connection: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += connection.recv(65536)
    return (head + b"\r\n\r\n" + body).decode()
