"""Saves snapshots in a separate process."""

import os
import subprocess
import sys
from pathlib import Path


class SnapshotProcess:
    """Starts a process that reads the log and saves a snapshot, without waiting for it."""

    def __init__(self, data: Path, database: str | None):
        self._data, self._database = data, database

    def __call__(self) -> None:
        """Start the process."""
        environment = dict(os.environ)
        if self._database:  # not as an argument, which every user of the machine could read
            environment["BENTHAM_DATABASE"] = self._database
        command = [sys.executable, "-m", "bentham", "log", "snapshot", "--data", str(self._data)]
        subprocess.Popen(
            ["nice", "-n", "10", *command] if os.name == "posix" else command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
