"""The SQLite file: its connections, the meaning of its errors, and its lock."""

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
    except ImportError:  # it has wheels for Linux only
        import sqlite3 as sqlite

__all__ = [
    "FILE",
    "LOCK_FILE",
    "Reopening",
    "connect",
    "is_file",
    "make_folder",
    "open_existing",
    "sqlite",
    "translated",
    "try_lock",
    "version_warning",
]

FILE, LOCK_FILE = "bentham.db", "lock"
BUSY_SECONDS = 5.0
FIRST_FIXED = (3, 51, 3)  # earlier versions can corrupt a database when its WAL is reset
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
    "SQLITE_READONLY": "it is read-only; check the permissions and the file system",
    "SQLITE_CANTOPEN": "it cannot be opened; check that it exists, its permissions and the disk",
    "SQLITE_PERM": "access was denied; check the permissions",
    "SQLITE_CORRUPT": "the file is damaged; stop Bentham and restore a backup",
}
Result = TypeVar("Result")


def version_warning() -> str | None:
    """Return a warning if the SQLite in use has a bug that can corrupt data."""
    if sqlite.sqlite_version_info >= FIRST_FIXED:
        return None
    required = ".".join(map(str, FIRST_FIXED))
    return (
        f"SQLite {sqlite.sqlite_version} has a rare bug that can corrupt the database, fixed in "
        f"{required}; install pysqlite3 or a newer SQLite, or use PostgreSQL"
    )


def make_folder(folder: Path) -> None:
    """Create the folder and the file, accessible only to the owner; existing ones are kept."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600))
        for path in (folder, *(path.parent for path in missing)):
            _sync_folder(path)  # otherwise a power cut could remove the new folder and its content
    except OSError as error:
        raise _refused(folder / FILE, error) from None


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_existing(path: Path) -> "sqlite.Connection":
    """Open a connection that threads may share, without changing the file's settings."""
    return sqlite.connect(
        f"{path.absolute().as_uri()}?mode=rw",  # never create an empty file if it is missing
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def connect(path: Path) -> "sqlite.Connection":
    """Open a connection that writes durably; transactions are begun explicitly."""
    connection = open_existing(path)
    try:
        _switch_to_wal(connection)
        for pragma in PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: "sqlite.Connection") -> None:
    """Switch to WAL mode, waiting for other processes that switch a new file at the same time.

    SQLite itself does not wait here, whatever its timeout: each of the two would hold the shared
    lock that keeps the other from getting the exclusive lock.
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
    """Convert an error of SQLite to an error of Bentham."""
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
        f"{path}: {error.strerror or error}; check the permissions, the disk and the path"
    )


def try_lock(folder: Path) -> int | None:
    """Try to take the lock of the leading instance; return its open file, or None if taken."""
    path = folder / LOCK_FILE
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _refused(path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_file(path, os.fstat(handle)):  # it was not removed in the meantime
            return handle
    except BlockingIOError:
        pass
    except OSError as error:
        os.close(handle)
        raise _refused(path, error) from None
    os.close(handle)
    return None


def is_file(path: Path, known: os.stat_result) -> bool:
    """Whether the path still refers to the file that was opened."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (known.st_dev, known.st_ino)


class Reopening:
    """A connection under a lock. After an error it is closed, and reopened on the next use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite.Connection | None = None
        self._file: os.stat_result | None = None
        self._closed = False

    def run(self, work: "Callable[[sqlite.Connection], Result]") -> Result:
        """Do the work; errors of SQLite are converted to errors of Bentham."""
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
        # Writes to a file that was replaced would be lost silently.
        if self._file is not None and not is_file(self._path, self._file):
            raise StorageUnavailable(
                f"{self._path} was moved or replaced while in use; put it back, or restart Bentham"
            )
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite.Error):
                connection.close()

    def close(self) -> None:
        """Close the connection; it is not opened again."""
        with self._lock:
            self._closed = True
            self._drop()
