"""The data that trials train on, kept by content so that it is fetched once.

A file is fetched under another name and renamed when it is whole and what it should be, so several
workers may share a folder. A trial gets a link of its own: what is pruned meanwhile stays with it.
The file is not to be written to; for root, whom that does not stop, the trial gets a copy.
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
    """Files named by the sha256 of what is in them; the least lately used give way."""

    def __init__(self, folder: Path, largest: int):
        self._folder, self._largest = folder, largest
        self._locks = Locks()

    def provide(
        self,
        training: Training,
        fetch: Callable[[], Iterable[bytes]],
        place: Path,
        given_up: Callable[[], bool],
    ) -> None:
        """Put the data at a place, fetched if need be; raises when it is not what was promised."""
        if not HASH.fullmatch(training.hash):
            raise InvalidInput(f"{training.hash!r} is no sha256 of data; the server is at fault")
        path = self._folder / training.hash
        with self._locks.of(training.hash):
            if _put(path, place, training.hash):
                return
            for _ in range(2):  # another worker may prune what was just fetched
                self._fetch(training, fetch(), path, given_up)
                self._prune(keep=path)
                if _put(path, place, training.hash):
                    return
        raise InvalidInput(
            f"the data of {training.name!r} does not stay as it was fetched; the worker needs a "
            "folder with more room, or a sound disk"
        )

    def _fetch(
        self,
        training: Training,
        pieces: Iterable[bytes],
        path: Path,
        given_up: Callable[[], bool],
    ) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._folder / f"{training.hash}.{uuid4().hex}.part"
        digest, size = hashlib.sha256(), 0
        try:
            with part.open("wb") as file:
                for piece in pieces:
                    if given_up():
                        raise InvalidInput("the data is not wanted any more")
                    digest.update(piece)
                    size += len(piece)
                    if size > training.bytes:
                        break
                    file.write(piece)
            if size != training.bytes or digest.hexdigest() != training.hash:
                raise InvalidInput(
                    f"the data of {training.name!r} is not what was promised: {training.bytes:,} "
                    f"bytes with the sha256 {training.hash[:12]}..., but {size:,} or more came "
                    f"with {digest.hexdigest()[:12]}..."
                )
            part.chmod(0o444)
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)

    def _prune(self, keep: Path) -> None:
        """Remove files until the rest is small enough; another worker may do so, too."""
        found = []
        for path in self._folder.iterdir():
            try:
                found.append((path.stat().st_mtime, path.stat().st_size, path))
            except OSError:
                continue
        total = sum(size for _, size, _ in found)
        for modified, size, path in sorted(found):
            part = path.suffix == ".part"
            # A part that nobody has added to for long is of a worker that was killed.
            stale = part and modified < time.time() - STALE_SECONDS
            if stale or (total > self._largest and not part and path != keep):
                path.unlink(missing_ok=True)
                total -= size


class Locks:
    """A lock for each hash; some share one, so that there are not ever more."""

    def __init__(self, count: int = 64):
        self._locks = [threading.Lock() for _ in range(count)]

    def of(self, name: str) -> threading.Lock:
        """The one to hold while this is fetched."""
        return self._locks[hash(name) % len(self._locks)]


def _put(path: Path, place: Path, digest: str) -> bool:
    """Put a file at a place, and only then look whether it is what it should be.

    What is on a disk may have changed, and may be pruned at any time: better known than a wrong
    score.
    """
    try:
        os.utime(path)
        if os.geteuid() == 0 or not _linked(path, place):
            shutil.copyfile(path, place)
    except FileNotFoundError:
        return False
    if _digest(place) == digest:
        return True
    place.unlink()
    return False


def _linked(path: Path, place: Path) -> bool:
    try:
        os.link(path, place)
    except OSError:  # another file system, or one without links
        return False
    return True


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()
