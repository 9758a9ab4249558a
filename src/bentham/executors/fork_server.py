"""The executor's side of the fork server, which starts the wardens.

The fork server imports what trials need once, and then forks a warden whenever it is asked to: so
the devices of a worker share the time and the memory that the imports take. See `warden` for its
own side. Requests go through a socket, with the pipes of a new warden; orders and answers then go
through these pipes, past the fork server.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

from bentham.executors.channel import FORK, KILL, REAP, REQUEST, STATUS
from bentham.executors.containment import Hold
from bentham.executors.processes import descendants

# How long a fork server that has imported everything may take to do what it is asked.
ANSWER_SECONDS = 10.0


class ForkServer:
    """Starts wardens, and the process that forks them when there is none."""

    def __init__(self, preload: Sequence[str], hold: Hold, environment: Mapping[str, str]):
        self._command = [sys.executable, "-P", "-m", "bentham.executors.warden", "--hold", hold]
        self._command += [f"--preload={module}" for module in preload]
        self.hold, self._environment = hold, dict(environment)
        self._lock = threading.Lock()
        self._process: _ForkingProcess | None = None
        self._numbers = count()

    def start(self) -> "Warden":
        """Have a warden forked; it is forked once the imports are done."""
        with self._lock:
            if self._process is None or self._process.has_ended():
                if self._process is not None:
                    self._process.close()
                self._process = _ForkingProcess(self._command, self._environment)
            return Warden(self._process, next(self._numbers))

    def close(self) -> None:
        """End the fork server; the wardens have ended or are killed."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None


class Warden:
    """A warden: pipes to and from it, and its end."""

    def __init__(self, process: "_ForkingProcess", number: int):
        self._process, self._number = process, number
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            orders, to_warden, from_warden, answers = ends
            process.fork(number, orders, answers)
        except BaseException:
            for end in ends:
                os.close(end)
            raise
        os.close(orders)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(to_warden, "wb"), os.fdopen(from_warden, "rb", 0)

    def has_ended(self, within: float = 0.0) -> bool:
        """Whether it has ended, or ends within some seconds: nobody else holds its answers."""
        poller = select.poll()
        try:
            poller.register(self.stdout, 0)  # only whether the other end is closed
        except ValueError:  # this end is closed, too: it was reaped
            return True
        return bool(poller.poll(1e3 * within))

    def kill(self) -> None:
        """Kill it with everything it runs. A fork server that does not respond is killed, too."""
        self._process.kill(self._number)
        if not self.has_ended(ANSWER_SECONDS):
            self._process.kill_all()

    def wait(self) -> int:
        """Wait until it has ended, and return its exit code, as `subprocess` does."""
        while not self.has_ended(60.0):
            pass
        return self._process.reap(self._number)


class _ForkingProcess:
    """The process of a fork server. It ends when the executor closes the socket, or dies."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]):
        self._codes: dict[int, int] = {}  # of wardens that were reaped
        self._lock = threading.Lock()  # held from a request to its answer
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),  # no file, as in the trials it forks
                    env=environment,
                    start_new_session=True,  # Ctrl-C in the terminal is meant for the worker only
                )
            except BaseException:
                ours.close()
                raise
        ours.settimeout(ANSWER_SECONDS)
        self._socket = ours

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def fork(self, number: int, orders: int, answers: int) -> None:
        # If it has just ended, the warden's pipes are closed, as if the warden had ended.
        with self._lock, suppress(OSError):
            socket.send_fds(self._socket, [REQUEST.pack(FORK, number)], [orders, answers])

    def kill(self, number: int) -> None:
        with self._lock, suppress(OSError):
            self._socket.sendall(REQUEST.pack(KILL, number))

    def reap(self, number: int) -> int:
        """Return the exit code of a warden that has ended."""
        with self._lock:
            if number not in self._codes:
                answer = b""
                with suppress(OSError):
                    self._socket.sendall(REQUEST.pack(REAP, number))
                    answer = self._socket.recv(STATUS.size)
                if len(answer) != STATUS.size:  # the fork server has ended, too, or it hangs
                    self.kill_all()
                    return self._process.wait()
                self._codes[number] = int(STATUS.unpack(answer)[0])
            return self._codes[number]

    def kill_all(self) -> None:
        """Kill the fork server with all wardens and trials."""
        if self.has_ended():
            return
        # Without namespaces, the kernel does not kill the wardens with the fork server.
        for pid in [self.pid, *descendants(self.pid)]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self._socket.close()
        try:
            self._process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill_all()
            self._process.wait()
