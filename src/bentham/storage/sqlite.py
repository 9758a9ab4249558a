"""The log in one SQLite file, `bentham.db` in a folder: for one machine, without any setup.

One connection writes and another reads; in WAL mode neither waits for the other. The lead is a lock
on the file `lock`, which the kernel releases when the process ends, however it ends. The folder
must be on a local disk: neither WAL nor the lock is reliable over a network.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from bentham.storage.log import (
    FIELDS,
    LARGEST,
    SNAPSHOTS,
    Record,
    Row,
    as_row,
    check_records,
    check_snapshot,
    closed,
    not_leading,
    read_pages,
    refuse_other_records,
)
from bentham.storage.sqlite_file import FILE, LOCK_FILE, Reopening, is_file, try_lock

if TYPE_CHECKING:
    from bentham.storage.sqlite_file import sqlite

PART = 2**20  # bytes of a snapshot written at a time, while appends wait
COLUMNS = ", ".join(FIELDS)
HEAD = "SELECT coalesce(max(sequence), 0) FROM events"
INSERT = f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join('?' * len(FIELDS))})"
READ = f"SELECT {COLUMNS} FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?"


class SqliteLog:
    """An EventLog in `bentham.db` of a folder; see `open_log`, which also creates its tables."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = Reopening(folder / FILE)
        self._reader = Reopening(folder / FILE)
        self._lead_lock = Lock()
        self._lead: int | None = None
        self._closed = False

    def head(self) -> int:
        """Return the last sequence number, 0 if the log is empty."""
        return self._reader.run(_head)

    def append(self, records: Sequence[Record]) -> None:
        """Write all or nothing, durable on return; see EventLog."""
        check_records(records)
        if self._closed:
            raise closed()
        if not self.leads():
            raise not_leading()
        if not records:
            return
        first, rows = records[0].sequence, list(map(as_row, records))

        def work(connection: "sqlite.Connection") -> None:
            connection.execute("BEGIN IMMEDIATE")
            head = _head(connection)
            if first == head + 1:
                connection.executemany(INSERT, rows)
                connection.execute("COMMIT")
            else:
                existing = connection.execute(READ, (first - 1, len(rows))).fetchall()
                connection.execute("ROLLBACK")
                refuse_other_records(records, existing, head)

        self._writer.run(work)

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records after a sequence number, in order; blocks no reads or appends."""
        return read_pages(self._fetch, after, limit)

    def _fetch(self, after: int, size: int) -> list[Row]:
        return self._reader.run(lambda reader: reader.execute(READ, (after, size)).fetchall())

    def save_snapshot(self, sequence: int, data: bytes) -> None:
        """Store a snapshot of the fold up to a sequence number; only the latest two are kept."""
        check_snapshot(sequence, self.head())
        self._write(
            ("DELETE FROM snapshots WHERE sequence = ?", (sequence,)),
            ("DELETE FROM snapshot_parts WHERE sequence NOT IN (SELECT sequence FROM snapshots)",),
        )
        view = memoryview(data)
        for part, start in enumerate(range(0, len(data), PART)):
            row = (sequence, part, view[start : start + PART])
            self._write(("INSERT INTO snapshot_parts VALUES (?, ?, ?)", row))
        self._write(
            ("INSERT INTO snapshots VALUES (?, ?)", (sequence, len(data))),
            (
                "DELETE FROM snapshots WHERE sequence NOT IN "
                "(SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT ?)",
                (SNAPSHOTS,),
            ),
            ("DELETE FROM snapshot_parts WHERE sequence NOT IN (SELECT sequence FROM snapshots)",),
        )

    def _write(self, *statements: tuple[str] | tuple[str, tuple[object, ...]]) -> None:
        def work(connection: "sqlite.Connection") -> None:
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                connection.execute(*statement)
            connection.execute("COMMIT")

        self._writer.run(work)

    def load_snapshot(self, before: int | None = None) -> tuple[int, bytes] | None:
        """Return the latest snapshot, or the latest before the given sequence number."""
        return self._reader.run(lambda reader: _load_snapshot(reader, before))

    def drop_snapshots(self) -> None:
        """Delete all snapshots."""
        self._write(("DELETE FROM snapshots",), ("DELETE FROM snapshot_parts",))

    def lead(self) -> bool:
        """Try to become the only instance that may append."""
        with self._lead_lock:
            if self._closed:
                raise closed()
            if self._lead is not None and not self._holds(self._lead):
                os.close(self._lead)
                self._lead = None
            if self._lead is None:
                self._lead = try_lock(self._folder)
            return self._lead is not None

    def leads(self) -> bool:
        """Whether this instance still leads."""
        with self._lead_lock:
            return self._lead is not None and self._holds(self._lead)

    def _holds(self, handle: int) -> bool:
        """Whether the lock still protects: if the file was removed, others can lock a new one."""
        return is_file(self._folder / LOCK_FILE, os.fstat(handle))

    def close(self) -> None:
        """Close all connections, then give up the lead."""
        self._closed = True
        self._reader.close()
        self._writer.close()
        with self._lead_lock:
            if self._lead is not None:
                os.close(self._lead)
                self._lead = None


def _head(connection: "sqlite.Connection") -> int:
    head: int = connection.execute(HEAD).fetchone()[0]
    return head


def _load_snapshot(connection: "sqlite.Connection", before: int | None) -> tuple[int, bytes] | None:
    # In one transaction, so that no save removes the parts in between. A snapshot beyond the head
    # belongs to a log that a backup has since replaced.
    connection.execute("BEGIN")
    rows = connection.execute(
        f"SELECT sequence, size FROM snapshots WHERE sequence < ? AND sequence <= ({HEAD}) "
        "ORDER BY sequence DESC",
        (LARGEST if before is None else before,),
    ).fetchall()
    found = None
    for sequence, size in rows:
        parts = connection.execute(
            "SELECT data FROM snapshot_parts WHERE sequence = ? ORDER BY part", (sequence,)
        )
        data = b"".join(part for (part,) in parts)
        if len(data) == size:
            found = (sequence, data)
            break
    connection.execute("COMMIT")
    return found
