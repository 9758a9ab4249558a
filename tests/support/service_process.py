"""A real `bentham serve` in its own process, reached over a socket."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from support.ports import free_port

DEADLINE = 30.0


class ServiceProcess:
    """The process; its output goes to a file, which `log` reads."""

    def __init__(self, folder: Path, *options: str, command: list[str] | None = None):
        self.folder, self.port = folder, free_port()
        folder.mkdir(exist_ok=True)
        self._log = folder / "stderr.txt"
        program = [sys.executable, "-m", "bentham", "serve", "--data", str(folder), "--port",
                   str(self.port), "--log-level", "debug", *options]  # fmt: skip
        if command is not None:
            program = [*command, str(self.port)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(program, stdout=log, stderr=log)

    def limit_files(self, size: int) -> None:
        """Limit the size of files, to simulate a full disk; -1 removes the limit."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, -1))

    def until_ready(self) -> None:
        began = time.monotonic()
        while True:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.log()
            assert time.monotonic() < began + DEADLINE, self.log()
            time.sleep(0.02)

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def admin(self) -> str:
        return (self.folder / "admin.token").read_text().strip()

    def request(
        self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str
    ) -> tuple[int, Any, HTTPResponse]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, {"Content-Type": "application/json", **sent})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        kind = response.headers.get("content-type", "")
        return response.status, json.loads(text) if "json" in kind else text, response

    def raw(self, data: bytes, wait: float = DEADLINE, leave: bool = False) -> bytes:
        """Send raw bytes; return everything received until the server closes.

        With `leave`, close the sending side after the data; the server may then not answer.
        """
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            try:
                connection.sendall(data)
                if leave:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server closed the connection, which is a valid reaction
            return read_all(connection)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE)
        return 0 if code == -signal.SIGTERM else code  # uvicorn ends by the signal it received


def read_all(connection: socket.socket) -> bytes:
    found = b""
    try:
        while chunk := connection.recv(65536):
            found += chunk
    except ConnectionResetError:
        pass
    return found


@contextmanager
def running(folder: Path, *options: str, **more: Any) -> Iterator[ServiceProcess]:
    server = ServiceProcess(folder, *options, **more)
    try:
        server.until_ready()
        yield server
    finally:
        if server.process.poll() is None:
            os.kill(server.process.pid, signal.SIGTERM)
            try:
                server.process.wait(DEADLINE)
            finally:
                if server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()
