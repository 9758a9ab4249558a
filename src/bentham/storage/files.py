"""Files beside the log: the data that studies train on, each under a key that names its content.

A file is stored in parts, each in a transaction of its own, so that an append to the log never
waits for a whole file. It counts once its row in `files` is there, which comes last and only if all
its parts are. So what a killed save leaves behind is never seen, and saving again mends it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

from bentham.errors import InvalidInput, StorageUnavailable
from bentham.storage.log import closed
from bentham.storage.memory import MemoryDatabase

PART = 2**18  # bytes, in every part but the last: two that save the same file write the same parts
DROPPED = 16  # parts removed at a time
LONGEST_KEY = 200
SIZE = "SELECT size FROM files WHERE key = ?"
KEYS = "SELECT key FROM files WHERE substr(key, 1, ?) = ?"
LOAD = "SELECT data FROM file_parts WHERE key = ? AND part = ?"
SAVE = (
    "INSERT INTO file_parts (key, part, data) VALUES (?, ?, ?) "
    "ON CONFLICT (key, part) DO UPDATE SET data = excluded.data"
)
# Left by a save of other content under this key, which never ended.
CUT = "DELETE FROM file_parts WHERE key = ? AND part >= ?"
KEEP = (
    "INSERT INTO files (key, size) SELECT key, total FROM "
    "(SELECT key, count(*) AS parts, sum(length(data)) AS total FROM file_parts "
    "WHERE key = ? GROUP BY key) AS saved WHERE parts = ? AND total = ? "
    "ON CONFLICT (key) DO NOTHING"
)
HIDE = "DELETE FROM files WHERE key = ?"
# Never the parts of a file that counts: it may have been saved again meanwhile.
UNSEEN = "key = ? AND key NOT IN (SELECT key FROM files)"
DROP = (
    f"DELETE FROM file_parts WHERE {UNSEEN} AND part IN "
    f"(SELECT part FROM file_parts WHERE key = ? ORDER BY part LIMIT {DROPPED})"
)
LEFT = f"SELECT part FROM file_parts WHERE {UNSEEN} LIMIT 1"
UNFINISHED = "SELECT DISTINCT key FROM file_parts WHERE key NOT IN (SELECT key FROM files)"
Statement = tuple[str, tuple[object, ...]]


class Files(Protocol):
    """Save, load and drop whole files. All methods may be called from any thread."""

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Keep a file, durable on return; it is seen by nobody before. Safe to repeat in doubt.

        The same key always means the same content: one that is there already is left as it is, and
        the content is not read. After StorageUnavailable nothing is seen unless all of it is.
        """

    def load(self, key: str) -> Iterator[bytes] | None:
        """The content in parts, None if there is no such file."""

    def size(self, key: str) -> int | None:
        """Its number of bytes, None if there is no such file."""

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in order."""

    def drop(self, key: str) -> None:
        """Remove a file, if it is there."""

    def tidy(self) -> None:
        """Remove what saves that never ended have left; a save under way would have to repeat."""

    def close(self) -> None:
        """Give up all connections; the files cannot be used any more."""


def check_key(key: str) -> None:
    """Refuse a key that one of the databases could not store."""
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"the key of a file is {key[:20]!r}...; use 1 to {LONGEST_KEY} printable ASCII signs"
        )


def in_parts(content: Iterable[bytes], size: int = PART) -> Iterator[bytes]:
    """The same bytes in parts of one size, but for the last."""
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
    """A database that runs transactions, each safe to repeat; reconnects by itself."""

    def read(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query finds."""

    def write(self, statements: Sequence[Statement]) -> list[tuple[Any, ...]]:
        """All statements or none, durable on return; the rows of the last one, if it is a query."""

    def close(self) -> None:
        """For good."""


class DatabaseFiles:
    """Files in a database; see `open_files`."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Keep a file, durable on return; see Files."""
        if self.size(key) is not None:
            return
        parts = size = 0
        try:
            for data in in_parts(content):
                self._session.write([(SAVE, (key, parts, data))])
                parts, size = parts + 1, size + len(data)
        except BaseException:
            with suppress(StorageUnavailable):  # what is left then goes with the next save or tidy
                self._clear(key)
            raise
        keep: Statement = (KEEP, (key, parts, size))
        if parts == 0:
            keep = ("INSERT INTO files (key, size) VALUES (?, 0) ON CONFLICT DO NOTHING", (key,))
        if self._session.write([(CUT, (key, parts)), keep, (SIZE, (key,))]) != [(size,)]:
            raise StorageUnavailable(f"{key!r} was dropped while it was saved; save it again")

    def load(self, key: str) -> Iterator[bytes] | None:
        """The content in parts, None if there is no such file."""
        size = self.size(key)
        return None if size is None else self._parts(key, size)

    def _parts(self, key: str, size: int) -> Iterator[bytes]:
        for part, start in enumerate(range(0, size, PART)):
            rows = self._session.read(LOAD, (key, part))
            if not rows or len(rows[0][0]) != min(PART, size - start):
                raise StorageUnavailable(
                    f"a part of {key!r} is gone: it was dropped while it was read, or the database "
                    "is damaged; upload the data again"
                )
            yield bytes(rows[0][0])

    def size(self, key: str) -> int | None:
        """Its number of bytes, None if there is no such file."""
        check_key(key)
        rows = self._session.read(SIZE, (key,))
        return int(rows[0][0]) if rows else None

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in order."""
        check_key(prefix)
        rows = self._session.read(KEYS, (len(prefix), prefix))
        return sorted(str(key) for (key,) in rows)

    def drop(self, key: str) -> None:
        """Remove a file, if it is there."""
        check_key(key)
        self._session.write([(HIDE, (key,)), (SIZE, (key,))])
        self._clear(key)

    def _clear(self, key: str) -> None:
        while self._session.write([(DROP, (key, key)), (LEFT, (key,))]):
            pass

    def tidy(self) -> None:
        """Remove what saves that never ended have left."""
        for (key,) in self._session.read(UNFINISHED):
            self._clear(key)

    def close(self) -> None:
        """Give up all connections."""
        self._session.close()


class MemoryFiles:
    """Files that end with the process; the same contract as in the databases."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self._shared = MemoryDatabase() if database is None else database
        self._closed = False

    def save(self, key: str, content: Iterable[bytes]) -> None:
        """Keep a file; see Files."""
        if self.size(key) is None:
            self._shared.files[key] = b"".join(content)

    def load(self, key: str) -> Iterator[bytes] | None:
        """The content in parts, None if there is no such file."""
        return None if self.size(key) is None else in_parts([self._shared.files[key]])

    def size(self, key: str) -> int | None:
        """Its number of bytes, None if there is no such file."""
        if self._closed:
            raise closed()
        check_key(key)
        content = self._shared.files.get(key)
        return None if content is None else len(content)

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in order."""
        if self._closed:
            raise closed()
        return sorted(key for key in self._shared.files if key.startswith(prefix))

    def drop(self, key: str) -> None:
        """Remove a file, if it is there."""
        if self.size(key) is not None:
            del self._shared.files[key]

    def tidy(self) -> None:
        """Nothing: a save that never ended has left nothing."""

    def close(self) -> None:
        """The files cannot be used any more."""
        self._closed = True
