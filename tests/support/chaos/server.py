"""Processes of Bentham that can be killed at any moment.

Imports take far longer than the rest of the start. So a zygote imports once, and every process is
forked from it and then runs `bentham ...` as the command line does. The process that computes fits
for a server is forked too: the command that the server starts passes its pipes to a fork.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

SOURCE = r'''
import gc, importlib, json, os, pkgutil, signal, socket, sys
import alembic.command, uvicorn.lifespan.on, uvicorn.loops.uvloop
import bentham
# Import the modules that commands import lazily, so that no process has to.
for part in ("cli", "client", "executors", "forecast", "http", "service", "storage", "worker"):
    package = importlib.import_module("bentham." + part)
    for each in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)
from bentham.executors.linux import die_with_parent
from bentham.service.jobs import fits
gc.collect()
gc.freeze()  # so that garbage collection in a fork does not scan and copy these objects
os.setpgid(0, 0)  # so that Ctrl-C in the terminal reaches the parent only
address = "\0bentham-fits-%d" % os.getpid()  # an abstract socket of Linux
PASS_PIPES = """
import os, socket
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(%r)
    socket.send_fds(connection, [b"!"], [0, 1])
    os.closerange(0, 2)
    connection.recv(1)  # returns when the fork ends
"""

def fork_fits(listener):
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.nice(10)
    while True:
        connection, _ = listener.accept()
        _, pipes, _, _ = socket.recv_fds(connection, 1, 2)
        if os.fork() == 0:
            listener.close()
            with open(pipes[0], "rb") as tasks, open(pipes[1], "wb") as answers:
                try:
                    fits.compute(tasks, answers)
                finally:
                    os._exit(0)
        for each in pipes:
            os.close(each)
        connection.close()

children = set()
if sys.platform == "linux":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    fit_forker = os.fork()
    if fit_forker == 0:
        fork_fits(listener)
    listener.close()
    fits.COMMAND = (sys.executable, "-S", "-c", PASS_PIPES % address)
    children.add(fit_forker)
for line in sys.stdin:
    request = json.loads(line)
    if "wait" in request:
        _, status = os.waitpid(request["wait"], 0)
        children.discard(request["wait"])
        print(os.waitstatus_to_exitcode(status), flush=True)
        continue
    child = os.fork()
    if child == 0:
        out = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        devnull = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((devnull, 0), (out, 1), (out, 2)):
            os.dup2(old, new)
        sys.argv = ["bentham", *request["arguments"]]
        code = 70
        try:
            bentham.cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        finally:
            sys.stdout.flush()
            os._exit(code)
    children.add(child)
    print(child, flush=True)
for child in children:
    os.kill(child, signal.SIGKILL)
'''


class Zygote:
    """Forks commands. When it ends, for any reason, all commands still running are killed."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SOURCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _send(self, **request: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, arguments: Sequence[object], log: Path) -> "Command":
        """Start `bentham ARGUMENTS`; append its output to the log."""
        return Command(self, self._send(arguments=[str(each) for each in arguments], log=str(log)))

    def run(self, arguments: Sequence[object], log: Path) -> int:
        """Run `bentham ARGUMENTS` to its end; return the exit code."""
        return self.start(arguments, log).wait()

    def reap(self, process: int) -> int:
        """Wait for a process to end; return its exit code."""
        return self._send(wait=process)


class Command:
    """One process."""

    def __init__(self, zygote: Zygote, process: int):
        self._zygote, self.process = zygote, process
        self.code: int | None = None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.code is None:
            os.kill(self.process, number)

    def kill(self) -> None:
        """Kill it with SIGKILL, and wait until it has ended and released its locks."""
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        if self.code is None:
            self.code = self._zygote.reap(self.process)
        return self.code


class Instance:
    """One `bentham serve` on its own port, which can be started and killed repeatedly."""

    def __init__(self, zygote: Zygote, arguments: Sequence[object], port: int, log: Path):
        self._zygote, self.port, self.log = zygote, port, log
        self._arguments = ["serve", *arguments, "--port", port, "--rate-limit", 0]
        self._command: Command | None = None
        self._cold: subprocess.Popen[bytes] | None = None
        self.kills = 0

    def start(self, cold: bool = False) -> None:
        """Start; with `cold`, as `python -m bentham serve`, including imports."""
        if cold:
            command = [sys.executable, "-m", "bentham", *map(str, self._arguments)]
            with open(self.log, "ab") as out:
                self._cold = subprocess.Popen(command, stdout=out, stderr=out)
        else:
            self._command = self._zygote.start(self._arguments, self.log)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._cold is not None:
            self._cold.send_signal(number)
        elif self._command is not None:
            self._command.send(number)

    def phase(self) -> str:
        """The status reported by /readyz; empty if there is no response within a second."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1.0)
        try:
            connection.request("GET", "/readyz")
            return str(json.loads(connection.getresponse().read())["status"])
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def await_phase(self, wanted: str, seconds: float) -> bool:
        """Wait until it is in this phase; False on timeout."""
        deadline = time.monotonic() + seconds
        while self.phase() != wanted:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def kill(self) -> None:
        """kill -9."""
        self.end()
        self.kills += 1

    def end(self) -> None:
        """Kill it without counting the kill, for cleanup."""
        self.send(signal.SIGKILL)
        if self._cold is not None:
            self._cold.wait()
        elif self._command is not None:
            self._command.wait()
        self._cold = self._command = None
