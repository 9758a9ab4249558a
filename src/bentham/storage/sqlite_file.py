"""The SQLite file: how it is opened, what its errors mean, and who holds its lock."""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from bentham.errors import InvalidInput, SchemaMismatch, StorageUnavailable
from bentham.storage.log import closed

if TYPE_CHECKING:
    import sqlite3 as sqlite
else:
    try:
        import pysqlite3 as sqlite
    except ImportError:  # only Linux has wheels
        import sqlite3 as sqlite

__all__ = [
    "FILE",
    "LOCK_FILE",
    "Reopening",
    "connect",
    "is_file",
    "look",
    "make_folder",
    "sqlite",
    "translated",
    "try_lock",
    "version_warning",
]

FILE, LOCK_FILE = "bentham.db", "lock"
BUSY_SECONDS = 5.0
FIRST_SOUND = (3, 51, 3)  # earlier ones can corrupt a database when its WAL is reset
WAL = "PRAGMA journal_mode = WAL"
PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
)
CAUSES = {
    "SQLITE_FULL": "the disk is full; free some space",
    "SQLITE_BUSY": "another process holds its lock; end that process, or wait",
    "SQLITE_LOCKED": "another process holds its lock; end that process, or wait",
    "SQLITE_READONLY": "it cannot be written; check the rights and the file system",
    "SQLITE_CANTOPEN": "it cannot be opened; check that it exists, its rights and the disk",
    "SQLITE_PERM": "access was denied; check the rights",
    "SQLITE_CORRUPT": "the file is damaged; stop Bentham and restore a backup",
}
Result = TypeVar("Result")


def version_warning() -> str | None:
    """What to say about the SQLite in use, if it has a bug that can cost data."""
    if sqlite.sqlite_version_info >= FIRST_SOUND:
        return None
    wanted = ".".join(map(str, FIRST_SOUND))
    return (
        f"SQLite {sqlite.sqlite_version} has a rare bug that can corrupt the database, fixed in "
        f"{wanted}; install pysqlite3 or a newer SQLite, or use PostgreSQL"
    )


def make_folder(folder: Path) -> None:
    """Make the folder and the file for nobody but their owner; what exists stays as it is."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600))
        for path in (folder, *(path.parent for path in missing)):
            _sync_folder(path)  # else a power cut takes the new folder, and all that is in it
    except OSError as error:
        raise _refused(folder / FILE, error) from None


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def look(path: Path) -> "sqlite.Connection":
    """A connection that may go from thread to thread, and changes nothing by itself."""
    return sqlite.connect(
        f"{path.absolute().as_uri()}?mode=rw",  # never an empty file in place of one that is gone
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def connect(path: Path) -> "sqlite.Connection":
    """A connection that writes durably; transactions are begun by hand."""
    connection = look(path)
    try:
        _switch_to_wal(connection)
        for pragma in PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: "sqlite.Connection") -> None:
    """Wait for others that switch a new file at the same time.

    SQLite does not wait here by itself, whatever its timeout: each of the two would hold the shared
    lock that keeps the other from the exclusive one.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(WAL)
            return
        except sqlite.OperationalError as error:
            name = str(getattr(error, "sqlite_errorname", None) or "")
            if not name.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def translated(path: Path, error: Exception) -> Exception:
    """An error of SQLite in the words of Bentham."""
    name = str(getattr(error, "sqlite_errorname", None) or "")
    if name == "SQLITE_NOTADB":
        return SchemaMismatch(
            f"{path} is not a SQLite database; move it away, or name another folder with --data"
        )
    if isinstance(error, sqlite.IntegrityError | sqlite.DataError | sqlite.ProgrammingError):
        return InvalidInput(f"{path} cannot store this: {error}")
    for start, cause in CAUSES.items():
        if name.startswith(start):
            return StorageUnavailable(f"{path}: {cause} ({error})")
    detail = f"{error} ({name})" if name else f"{error}"
    return StorageUnavailable(f"{path}: {detail}; check the disk, then try again")


def _refused(path: Path, error: OSError) -> StorageUnavailable:
    return StorageUnavailable(
        f"{path}: {error.strerror or error}; check the rights, the disk and the path"
    )


def try_lock(folder: Path) -> int | None:
    """Take the lock of the one that leads: an open file to keep, or None if another has it."""
    path = folder / LOCK_FILE
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _refused(path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_file(path, os.fstat(handle)):  # not one that was removed meanwhile
            return handle
    except BlockingIOError:
        pass
    except OSError as error:
        os.close(handle)
        raise _refused(path, error) from None
    os.close(handle)
    return None


def is_file(path: Path, known: os.stat_result) -> bool:
    """Whether the path still leads to the file that was opened."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (known.st_dev, known.st_ino)


class Reopening:
    """A connection under a lock. After an error it is closed, and opened again when next used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite.Connection | None = None
        self._file: os.stat_result | None = None
        self._closed = False

    def run(self, work: "Callable[[sqlite.Connection], Result]") -> Result:
        """Do the work; what SQLite raises comes out as an error of Bentham."""
        with self._lock:
            if self._closed:
                raise closed()
            try:
                return work(self._opened())
            except sqlite.Error as error:
                self._drop()
                raise translated(self._path, error) from None
            except OSError as error:
                raise _refused(self._path, error) from None
            except BaseException:
                if self._connection is not None and self._connection.in_transaction:
                    self._drop()
                raise

    def _opened(self) -> "sqlite.Connection":
        if self._connection is None:
            self._connection = connect(self._path)
            self._file = os.stat(self._path) if self._file is None else self._file
        # A file that was replaced would take our writes with it without a word.
        if self._file is not None and not is_file(self._path, self._file):
            raise StorageUnavailable(
                f"{self._path} was moved or replaced while in use; put it back, or start again"
            )
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite.Error):
                connection.close()

    def close(self) -> None:
        """For good."""
        with self._lock:
            self._closed = True
            self._drop()
