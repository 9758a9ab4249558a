"""Files stored with the log: the data that studies train on, each under a key for its content.

A file is stored in parts, each in its own transaction, so that an append to the log never waits
for a whole file. The file exists once its row in `files` is written, which happens last and only
if all its parts are stored. So the leftovers of an interrupted save are never visible, and saving
again fixes them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

from bentham.errors import InvalidInput, StorageUnavailable
from bentham.storage.log import closed
from bentham.storage.memory import MemoryDatabase

PART = 2**18  # bytes of every part but the last: two saves of the same file write the same parts
DROPPED = 16  # parts removed per transaction
LONGEST_KEY = 200
SIZE = "SELECT size FROM files WHERE key = ?"
KEYS = "SELECT key FROM files WHERE substr(key, 1, ?) = ?"
LOAD = "SELECT data FROM file_parts WHERE key = ? AND part = ?"
SAVE = (
    "INSERT INTO file_parts (key, part, data) VALUES (?, ?, ?) "
    "ON CONFLICT (key, part) DO UPDATE SET data = excluded.data"
)
# Parts left by an interrupted save of other content under this key.
CUT = "DELETE FROM file_parts WHERE key = ? AND part >= ?"
KEEP = (
    "INSERT INTO files (key, size) SELECT key, total FROM "
    "(SELECT key, count(*) AS parts, sum(length(data)) AS total FROM file_parts "
    "WHERE key = ? GROUP BY key) AS saved WHERE parts = ? AND total = ? "
    "ON CONFLICT (key) DO NOTHING"
)
HIDE = "DELETE FROM files WHERE key = ?"
# Never the parts of a complete file: it may have been saved again in the meantime.
UNSEEN = "key = ? AND key NOT IN (SELECT key FROM files)"
DROP = (
    f"DELETE FROM file_parts WHERE {UNSEEN} AND part IN "
    f"(SELECT part FROM file_parts WHERE key = ? ORDER BY part LIMIT {DROPPED})"
)
LEFT = f"SELECT part FROM file_parts WHERE {UNSEEN} LIMIT 1"
UNFINISHED = "SELECT DISTINCT key FROM file_parts WHERE key NOT IN (SELECT key FROM files)"
Statement = tuple[str, tuple[object, ...]]


class Files(Protocol):
    """Save, load and drop whole files. All methods are thread-safe."""

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Store a file, durable on return and invisible before. Safe to repeat when in doubt.

        A key always stands for the same content: if the file exists, it is left unchanged and the
        content is not read. After StorageUnavailable the file is visible only if it is complete.
        """

    def load(self, key: str) -> Iterator[bytes] | None:
        """Return the content in parts, None if the file does not exist."""

    def size(self, key: str) -> int | None:
        """Return the file's size in bytes, None if it does not exist."""

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with a prefix, sorted."""

    def drop(self, key: str) -> None:
        """Remove a file, if it exists."""

    def tidy(self) -> None:
        """Remove leftovers of interrupted saves; a save in progress would have to be repeated."""

    def close(self) -> None:
        """Close all connections; the files cannot be used again."""


def check_key(key: str) -> None:
    """Raise if one of the databases could not store the key."""
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"the key of a file is {key[:20]!r}...; use 1 to {LONGEST_KEY} printable ASCII "
            "characters"
        )


def in_parts(content: Iterable[bytes], size: int = PART) -> Iterator[bytes]:
    """Split the content into parts of the same size; the last may be smaller."""
    rest = bytearray()
    for piece in content:
        rest += piece
        if len(rest) >= size:
            whole = len(rest) - len(rest) % size
            view = memoryview(bytes(rest[:whole]))
            del rest[:whole]
            for start in range(0, whole, size):
                yield bytes(view[start : start + size])
    if rest:
        yield bytes(rest)


class DatabaseSession(Protocol):
    """A database that runs transactions, each safe to repeat; reconnects automatically."""

    def read(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def write(self, statements: Sequence[Statement]) -> list[tuple[Any, ...]]:
        """Run all statements or none, durable on return; return the rows of the last, if any."""

    def close(self) -> None:
        """Close all connections; the session cannot be used again."""


class DatabaseFiles:
    """Files in a database; see `open_files`."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Store a file, durable on return; see Files."""
        if self.size(key) is not None:
            return
        parts = size = 0
        try:
            for data in in_parts(content):
                self._session.write([(SAVE, (key, parts, data))])
                parts, size = parts + 1, size + len(data)
        except BaseException:
            with suppress(StorageUnavailable):  # then the next save or tidy removes the leftovers
                self._clear(key)
            raise
        keep: Statement = (KEEP, (key, parts, size))
        if parts == 0:
            keep = ("INSERT INTO files (key, size) VALUES (?, 0) ON CONFLICT DO NOTHING", (key,))
        if self._session.write([(CUT, (key, parts)), keep, (SIZE, (key,))]) != [(size,)]:
            raise StorageUnavailable(f"{key!r} was dropped while being saved; save it again")

    def load(self, key: str) -> Iterator[bytes] | None:
        """Return the content in parts, None if the file does not exist."""
        size = self.size(key)
        return None if size is None else self._parts(key, size)

    def _parts(self, key: str, size: int) -> Iterator[bytes]:
        for part, start in enumerate(range(0, size, PART)):
            rows = self._session.read(LOAD, (key, part))
            if not rows or len(rows[0][0]) != min(PART, size - start):
                raise StorageUnavailable(
                    f"a part of {key!r} is missing: it was dropped while being read, or the "
                    "database is damaged; upload the data again"
                )
            yield bytes(rows[0][0])

    def size(self, key: str) -> int | None:
        """Return the file's size in bytes, None if it does not exist."""
        check_key(key)
        rows = self._session.read(SIZE, (key,))
        return int(rows[0][0]) if rows else None

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with a prefix, sorted."""
        check_key(prefix)
        rows = self._session.read(KEYS, (len(prefix), prefix))
        return sorted(str(key) for (key,) in rows)

    def drop(self, key: str) -> None:
        """Remove a file, if it exists."""
        check_key(key)
        self._session.write([(HIDE, (key,)), (SIZE, (key,))])
        self._clear(key)

    def _clear(self, key: str) -> None:
        while self._session.write([(DROP, (key, key)), (LEFT, (key,))]):
            pass

    def tidy(self) -> None:
        """Remove leftovers of interrupted saves."""
        for (key,) in self._session.read(UNFINISHED):
            self._clear(key)

    def close(self) -> None:
        """Close all connections."""
        self._session.close()


class MemoryFiles:
    """Files in memory, with the same contract as in the databases."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self._shared = MemoryDatabase() if database is None else database
        self._closed = False

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Store a file; see Files."""
        if self.size(key) is None:
            self._shared.files[key] = b"".join(content)

    def load(self, key: str) -> Iterator[bytes] | None:
        """Return the content in parts, None if the file does not exist."""
        return None if self.size(key) is None else in_parts([self._shared.files[key]])

    def size(self, key: str) -> int | None:
        """Return the file's size in bytes, None if it does not exist."""
        if self._closed:
            raise closed()
        check_key(key)
        content = self._shared.files.get(key)
        return None if content is None else len(content)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with a prefix, sorted."""
        if self._closed:
            raise closed()
        return sorted(key for key in self._shared.files if key.startswith(prefix))

    def drop(self, key: str) -> None:
        """Remove a file, if it exists."""
        if self.size(key) is not None:
            del self._shared.files[key]

    def tidy(self) -> None:
        """Do nothing: an interrupted save leaves nothing behind."""

    def close(self) -> None:
        """Close the files; they cannot be used again."""
        self._closed = True
