"""The server and the worker of the demo: real processes that never outlive it.

They run in their own sessions, so that Ctrl-C reaches only the demo, which then stops them one
after the other. If the demo itself is killed, Linux kills them too.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bentham.client import Client
from bentham.errors import BenthamError, Unavailable
from bentham.executors.linux import die_with_parent
from bentham.subprocesses import end, own_environment

STARTS_WITHIN = 60.0
TAIL_LINES = 8


class Child:
    """A process and its log file."""

    def __init__(self, name: str, arguments: list[str], log: Path, environment: Mapping[str, str]):
        self.name, self.log = name, log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bentham", *arguments],
                env=own_environment({"OPENBLAS_NUM_THREADS": "1", **environment}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def check(self) -> None:
        """Raise an error with the end of the log if the process has exited."""
        if (code := self._process.poll()) is not None:
            lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            tail = "\n".join(lines) or "(empty)"
            raise BenthamError(
                f"the {self.name} exited unexpectedly (exit code {code}). End of its log: {tail}"
            )

    def end(self) -> None:
        """Terminate the process gracefully; kill it if that takes too long."""
        end(self._process)


def admin_token(folder: Path) -> Path:
    """Return the path at which the server writes the operator's token."""
    return folder / "data" / "admin.token"


@contextmanager
def server(folder: Path) -> Iterator[tuple[Child, Client]]:
    """Run a server on a free port, with its files in `folder`; yields once it responds."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = ["--data", str(folder / "data"), "--port", str(port), "--log-level", "warning"]
    with _running(Child("server", ["serve", *options], folder / "server.log", {})) as child:
        token = admin_token(folder)
        until = time.monotonic() + STARTS_WITHIN
        while not token.exists():
            child.check()
            if time.monotonic() > until:
                raise BenthamError(
                    f"the server did not start within {STARTS_WITHIN:.0f} s; the machine may be "
                    "busy: try again"
                )
            time.sleep(0.05)
        with Client(f"http://127.0.0.1:{port}", token.read_text().strip()) as client:
            try:
                client.overview()  # the client retries until there is a response
            except Unavailable:
                child.check()
                raise
            yield child, client


@contextmanager
def worker(folder: Path, address: str, token: str, devices: int) -> Iterator[Child]:
    """Run a worker with `devices` devices that train models."""
    options = ["--server", address, "--devices", str(devices), "--name", "device"]
    options += ["--folder", str(folder / "worker")]
    child = Child("worker", ["worker", *options], folder / "worker.log", {"BENTHAM_TOKEN": token})
    with _running(child):
        yield child


@contextmanager
def _running(child: Child) -> Iterator[Child]:
    try:
        yield child
    finally:
        child.end()
