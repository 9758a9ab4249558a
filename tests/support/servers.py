"""Test servers: one on raw sockets, for malformed responses; one with canned responses."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROBLEM = b'{"title": "Busy", "status": 503, "detail": "the storage is away"}'


def reply(status: int, body: bytes = b"", *headers: str, kind: str = "application/json") -> bytes:
    """A complete response, after which the connection is closed."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    if body:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


class Scripted:
    """Answers each connection with the next bytes of a script, and stores the requests."""

    def __init__(self, responses: Sequence[bytes]):
        self.requests: list[str] = []
        self._answers = list(responses)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def keys(self) -> list[str]:
        """The idempotency keys of the requests."""
        lines = [line for text in self.requests for line in text.splitlines()]
        return [line.split(": ")[1] for line in lines if line.lower().startswith("idempotency-key")]

    def close(self) -> None:
        """Stop, even if not all responses were sent."""
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        for response in self._answers:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(_read_request(connection))
                connection.sendall(response)


@contextmanager
def scripted(*responses: bytes) -> Iterator[Scripted]:
    """A server that sends these responses, one per connection."""
    server = Scripted(responses)
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


class Canned:
    """Returns the given response for each method and path, and stores the requests."""

    def __init__(self, responses: Mapping[str, object]):
        self.responses = dict(responses)
        self.requests: list[tuple[str, str]] = []  # method and path, body
        canned = self

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                route = f"{self.command} {self.path.partition('?')[0]}"
                canned.requests.append(
                    (f"{self.command} {self.path}", self.rfile.read(length).decode())
                )
                missing = {"title": "Not found", "status": 404, "detail": f"there is no {route}"}
                body = canned.responses.get(route, missing)
                status = body["status"] if isinstance(body, dict) and "title" in body else 200
                content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = respond  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # so that closing waits for them
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def bodies(self, route: str) -> list[Any]:
        """The JSON bodies that were sent to a method and path."""
        return [json.loads(body) for target, body in self.requests if target == route]

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
