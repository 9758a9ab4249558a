"""The folder of a worker: data, logs, and the folders in which trials run.

data/    files by their SHA-256         shared by all workers that use this folder
logs/    one file per trial             the latest are kept
run/     one locked folder per worker, which contains one folder per running trial
"""

import fcntl
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from bentham.errors import InvalidInput

KEPT_LOGS = 500


class Folders:
    """Created as needed, for this user only; leftovers of killed workers are removed."""

    def __init__(self, root: Path, kept_logs: int = KEPT_LOGS):
        self._root, run = root, root / "run"
        self.data, self._logs = root / "data", root / "logs"
        self._kept_logs = kept_logs
        try:
            for folder in (root, self.data, self._logs, run):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._run, self._lock = _claim(run)
        except OSError as error:
            raise InvalidInput(
                f"{root} cannot be used for data and logs ({error.strerror}); name another folder "
                "with --folder"
            ) from None
        _remove_stale(run)

    def work(self) -> Path:
        """Create a new folder for a trial."""
        self._create_folders()  # a cleanup of temporary files may have removed it
        path = self._run / uuid4().hex[:12]
        path.mkdir(mode=0o700)
        return path

    def _create_folders(self) -> None:
        for folder in (self._root, self.data, self._logs, self._run.parent, self._run):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def log(self, trial: str) -> Path:
        """Return the path of a new log file for a trial; removes the oldest of too many logs."""
        found = []
        for path in self._logs.iterdir():
            try:
                found.append((path.stat().st_mtime, path))
            except OSError:  # another worker has removed it
                continue
        for _, path in sorted(found)[: max(0, len(found) + 1 - self._kept_logs)]:
            path.unlink(missing_ok=True)
        name = re.sub(r"[^A-Za-z0-9_-]", "-", trial)[:80]
        return self._logs / f"{name}-{uuid4().hex[:6]}.log"

    def close(self) -> None:
        """Remove the folder in which trials ran."""
        if self._lock >= 0:
            shutil.rmtree(self._run, ignore_errors=True)
            with suppress(OSError):  # the folder may have been deleted
                self._run.with_suffix(".lock").unlink()
            os.close(self._lock)
            self._lock = -1


def _claim(run: Path) -> tuple[Path, int]:
    """Create a folder for this worker, with a lock that is released when this process ends."""
    while True:
        path = run / uuid4().hex[:12]
        lock_path = path.with_suffix(".lock")
        lock = os.open(lock_path, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if lock_path.exists():  # otherwise another worker removed it before it was locked
            path.mkdir(mode=0o700)
            return path, lock
        os.close(lock)


def _remove_stale(run: Path) -> None:
    for lock_path in run.glob("*.lock"):
        try:
            lock = os.open(lock_path, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
            lock_path.unlink(missing_ok=True)
        except OSError:  # its worker is alive
            pass
        finally:
            os.close(lock)
