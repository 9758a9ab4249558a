"""Cache of training data by content hash, so that each file is fetched once.

A file is fetched under a temporary name and renamed once it is complete and its hash is verified,
so several workers may share a folder. Each trial gets its own hard link, so pruning the cache does
not take the file away from a running trial. Cached files are read-only; root can write to them
anyway, so a trial that runs as root gets a copy.
"""

import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import uuid4

from bentham.errors import InvalidInput
from bentham.wire import Training

HASH = re.compile(r"[0-9a-f]{64}")
CHUNK = 2**20
STALE_SECONDS = 86400.0


class DataCache:
    """Files named by the SHA-256 of their content; the least recently used are removed."""

    def __init__(self, folder: Path, largest: int):
        self._folder, self._largest = folder, largest
        self._locks = Locks()

    def provide(
        self,
        training: Training,
        fetch: Callable[[], Iterable[bytes]],
        target: Path,
        cancelled: Callable[[], bool],
    ) -> None:
        """Put the data at `target`, fetching it if needed; raises if its content is wrong."""
        if not HASH.fullmatch(training.hash):
            raise InvalidInput(f"{training.hash!r} is not a SHA-256 hash; the server is at fault")
        path = self._folder / training.hash
        with self._locks.of(training.hash):
            if _put(path, target, training.hash):
                return
            for _ in range(2):  # another worker may prune the file that was just fetched
                self._fetch(training, fetch(), path, cancelled)
                self._prune(keep=path)
                if _put(path, target, training.hash):
                    return
        raise InvalidInput(
            f"the data of {training.name!r} disappears or changes after it is fetched; give the "
            "worker a folder with more space, or check the disk"
        )

    def _fetch(
        self,
        training: Training,
        chunks: Iterable[bytes],
        path: Path,
        cancelled: Callable[[], bool],
    ) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._folder / f"{training.hash}.{uuid4().hex}.part"
        digest, size = hashlib.sha256(), 0
        try:
            with part.open("wb") as file:
                for chunk in chunks:
                    if cancelled():
                        raise InvalidInput("the data is no longer needed")
                    digest.update(chunk)
                    size += len(chunk)
                    if size > training.bytes:
                        break
                    file.write(chunk)
            if size != training.bytes or digest.hexdigest() != training.hash:
                raise InvalidInput(
                    f"the data of {training.name!r} is wrong: expected {training.bytes:,} bytes "
                    f"with SHA-256 {training.hash[:12]}..., received {size:,} or more with "
                    f"{digest.hexdigest()[:12]}..."
                )
            part.chmod(0o444)
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)

    def _prune(self, keep: Path) -> None:
        """Remove files until the cache is small enough; another worker may do so concurrently."""
        found = []
        for path in self._folder.iterdir():
            try:
                found.append((path.stat().st_mtime, path.stat().st_size, path))
            except OSError:
                continue
        total = sum(size for _, size, _ in found)
        for modified, size, path in sorted(found):
            part = path.suffix == ".part"
            # A part that has not grown for a long time belongs to a worker that was killed.
            stale = part and modified < time.time() - STALE_SECONDS
            if stale or (total > self._largest and not part and path != keep):
                path.unlink(missing_ok=True)
                total -= size


class Locks:
    """A lock for each hash, from a fixed number of locks; some hashes share one."""

    def __init__(self, count: int = 64):
        self._locks = [threading.Lock() for _ in range(count)]

    def of(self, name: str) -> threading.Lock:
        """Return the lock to hold while this file is fetched."""
        return self._locks[hash(name) % len(self._locks)]


def _put(path: Path, target: Path, digest: str) -> bool:
    """Put a file at `target`, then verify its hash; False if it is missing or wrong.

    A cached file may be pruned at any time, or damaged on disk, which could change a score.
    """
    try:
        os.utime(path)
        if os.geteuid() == 0 or not _linked(path, target):
            shutil.copyfile(path, target)
    except FileNotFoundError:
        return False
    if _digest(target) == digest:
        return True
    target.unlink()
    return False


def _linked(path: Path, target: Path) -> bool:
    try:
        os.link(path, target)
    except OSError:  # another file system, or one without hard links
        return False
    return True


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
