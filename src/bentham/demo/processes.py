"""The server and the worker of the demo: real processes, which never outlive it.

They are in sessions of their own, so that Ctrl-C is the demo's alone: it ends them one after the
other. Should the demo itself be killed, Linux kills them with it.
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
    """A process, and the file that its log goes to."""

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
        """Raise if it is not there any more, with what it said last."""
        if (code := self._process.poll()) is not None:
            lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
            said = "\n".join(lines) or "nothing"
            raise BenthamError(
                f"the {self.name} ended by itself (exit code {code}). It said last: {said}"
            )

    def end(self) -> None:
        """End it in an orderly way, or else at once."""
        end(self._process)


def admin_token(folder: Path) -> Path:
    """Where the server writes the operator's token."""
    return folder / "data" / "admin.token"


@contextmanager
def server(folder: Path) -> Iterator[tuple[Child, Client]]:
    """A server on a free port with all that it keeps in the folder; it has started."""
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
                    f"the server did not start within {STARTS_WITHIN:.0f} s; is the machine busy? "
                    "Try again"
                )
            time.sleep(0.05)
        with Client(f"http://127.0.0.1:{port}", token.read_text().strip()) as client:
            try:
                client.overview()  # the client waits until there is an answer
            except Unavailable:
                child.check()
                raise
            yield child, client


@contextmanager
def worker(folder: Path, address: str, token: str, devices: int) -> Iterator[Child]:
    """A worker with so many devices, which train."""
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
