"""A server and workers as processes of their own, in a folder."""

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
PATIENCE = 120.0  # on a machine that does much else


class Process(NamedTuple):
    """A process, and the file that its log goes to."""

    popen: subprocess.Popen[bytes]
    path: Path

    def log(self) -> str:
        return self.path.read_text()

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        code = self.popen.wait(timeout=PATIENCE)
        assert "bth_" not in self.log()
        return code

    def has_started(self) -> bool:
        """Whether a worker runs a trial, or has."""
        return '"trial started"' in self.log()

    def events(self) -> list[str]:
        """What a worker wrote into its log."""
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [str(json.loads(line)["event"]) for line in lines]


class Site:
    """A folder with a server in it, and workers beside it."""

    def __init__(self, folder: Path, *options: object):
        self.folder, self._options = folder, options
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.table = folder / "table.csv"
        self.table.write_text(TABLE)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server = self.serve()

    def serve(self) -> Process:
        """Start the server, on the data that is there."""
        data = self.folder / "bentham-data"
        return self._start("serve", "--port", self.port, "--data", data, *self._options)

    def worker(self, *options: object) -> Process:
        """Start a worker."""
        fixed = ["--server", self.address, "--table", self.table, "--scale", 1.0]
        return self._start("worker", *fixed, "--token-file", self.folder / "device.token", *options)

    def trainer(self, *options: object) -> Process:
        """Start a worker that trains."""
        with self.client() as admin:
            secret = admin.issue_token("device").secret
        token = self.folder / f"trainer{len(self.processes)}.token"
        token.touch(0o600)
        token.write_text(secret)
        fixed = ["--server", self.address, "--token-file", token]
        return self._start("worker", *fixed, "--folder", self.folder / "worker", *options)

    def tenant(self, name: str) -> Client:
        """A new tenant's client."""
        with self.client() as admin:
            admin.create_tenant(name)
            secret = admin.issue_token("tenant", name).secret
        return Client(self.address, secret, patience=PATIENCE)

    def client(self, token: str = "bentham-data/admin.token") -> Client:
        """A client that waits until the server is there."""
        path = self.folder / token
        wait_for(lambda: path.exists() and path.stat().st_size > 0)
        return Client(self.address, path.read_text().strip(), patience=PATIENCE)

    def close(self) -> None:
        """End whatever still runs."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: object) -> Process:
        command = [sys.executable, "-m", "bentham", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Into a file: a pipe that nobody reads would fill, and stop who writes.
        path = self.folder / f"{len(self.processes)}.log"
        with path.open("wb") as file:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=file)
        self.processes.append(process)
        return Process(process, path)


def wait_for(true: Callable[[], object]) -> None:
    """Look until it is true."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server that serves, in a folder of its own."""
    made = Site(tmp_path)
    try:
        with made.client() as admin:
            admin.overview()
        yield made
    finally:
        made.close()
