"""A server and workers as separate processes, in one folder."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bentham.client import Client
from support.ports import free_port

TABLE = """study,model,score,cost
wine,svm,0.8,0.1
wine,forest,0.9,0.2
wine,boosting,0.95,0.3
slow,svm,0.8,2
slower,svm,0.8,1000
"""
PATIENCE = 120.0  # timeout on a busy machine, in seconds


class Process(NamedTuple):
    """A process and its log file."""

    popen: subprocess.Popen[bytes]
    path: Path

    def log(self) -> str:
        return self.path.read_text()

    def ended(self) -> int:
        """Wait until the process has ended; return the exit code."""
        code = self.popen.wait(timeout=PATIENCE)
        assert "bth_" not in self.log()
        return code

    def has_started(self) -> bool:
        """Whether a worker has started a trial."""
        return '"trial started"' in self.log()

    def events(self) -> list[str]:
        """The events in a worker's log."""
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [str(json.loads(line)["event"]) for line in lines]


class Site:
    """A folder with a server and workers."""

    def __init__(self, folder: Path, *options: object):
        self.folder, self._options = folder, options
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.table = folder / "table.csv"
        self.table.write_text(TABLE)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server = self.serve()

    def serve(self) -> Process:
        """Start the server on the existing data."""
        data = self.folder / "bentham-data"
        return self._start("serve", "--port", self.port, "--data", data, *self._options)

    def worker(self, *options: object) -> Process:
        """Start a worker that replays the table."""
        arguments = ["--server", self.address, "--table", self.table, "--scale", 1.0]
        return self._start(
            "worker", *arguments, "--token-file", self.folder / "device.token", *options
        )

    def trainer(self, *options: object) -> Process:
        """Start a worker that trains."""
        with self.client() as admin:
            secret = admin.issue_token("device").secret
        token = self.folder / f"trainer{len(self.processes)}.token"
        token.touch(0o600)
        token.write_text(secret)
        arguments = ["--server", self.address, "--token-file", token]
        return self._start("worker", *arguments, "--folder", self.folder / "worker", *options)

    def tenant(self, name: str) -> Client:
        """Create a tenant; return a client for it."""
        with self.client() as admin:
            admin.create_tenant(name)
            secret = admin.issue_token("tenant", name).secret
        return Client(self.address, secret, patience=PATIENCE)

    def client(self, token: str = "bentham-data/admin.token") -> Client:
        """A client that waits until the server is available."""
        path = self.folder / token
        wait_for(lambda: path.exists() and path.stat().st_size > 0)
        return Client(self.address, path.read_text().strip(), patience=PATIENCE)

    def close(self) -> None:
        """Kill all processes that still run."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: object) -> Process:
        command = [sys.executable, "-m", "bentham", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # To a file: a pipe that is not read would fill up and block the process.
        path = self.folder / f"{len(self.processes)}.log"
        with path.open("wb") as file:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=file)
        self.processes.append(process)
        return Process(process, path)


def wait_for(condition: Callable[[], object]) -> None:
    """Poll until the condition is true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A running server in its own folder."""
    started = Site(tmp_path)
    try:
        with started.client() as admin:
            admin.overview()
        yield started
    finally:
        started.close()
