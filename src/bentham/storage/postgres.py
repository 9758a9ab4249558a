"""The log in PostgreSQL: for several machines, of which one leads and another can take over.

The lead is an advisory lock of the session that appends. So an instance that loses the lock has
lost its connection for writing, too, and an append in progress holds the lock until it has ended.

A frozen process keeps its connections, because the kernel answers for it. So the leading session
sends a query every second, and the server ends it if it is silent for too long.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from threading import Event, Lock, Thread
from uuid import uuid4

import psycopg
from psycopg.types.numeric import Int8

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
from bentham.storage.postgres_server import (
    Address,
    Connection,
    Reconnecting,
    end_former_sessions,
    is_alive,
    release_lock,
    try_lock,
)

APPEND_SECONDS, READ_SECONDS = 10, 60  # statement timeouts of the server
KEEP_SECONDS, SILENT_SECONDS = 1.0, 5.0  # interval and timeout of queries of the leading session
PART = 2**22  # bytes of a snapshot written at a time
TYPES = ("bigint", "float8", "text", "bigint", "text", "text", "text", "text", "text")
COLUMNS = ", ".join(FIELDS)
HEAD = "SELECT coalesce(max(sequence), 0) FROM events"
# One statement, one round trip, one transaction: it writes all rows if they follow the head, else
# none. Two concurrent appends cannot both write, since the sequence is the primary key.
INSERT_ONE = (
    f"INSERT INTO events ({COLUMNS}) SELECT {', '.join(f'%b::{type_}' for type_ in TYPES)} "
    f"WHERE ({HEAD}) = %b::bigint"
)
INSERT = (
    f"INSERT INTO events ({COLUMNS}) SELECT * FROM unnest("
    f"{', '.join(f'%b::{type_}[]' for type_ in TYPES)}) WHERE ({HEAD}) = %b::bigint"
)
READ = f"SELECT {COLUMNS} FROM events WHERE sequence > %s ORDER BY sequence LIMIT %s"
# Safe to repeat, like everything on the reading connection.
KEEP = (
    "INSERT INTO snapshots VALUES (%s, %s) "
    "ON CONFLICT (sequence) DO UPDATE SET size = excluded.size"
)
KEEP_PART = (
    "INSERT INTO snapshot_parts VALUES (%s, %s, %b) "
    "ON CONFLICT (sequence, part) DO UPDATE SET data = excluded.data"
)
OLD_PARTS = "DELETE FROM snapshot_parts WHERE sequence NOT IN (SELECT sequence FROM snapshots)"


class PostgresLog:
    """An EventLog in a PostgreSQL database; see `open_log`, which also creates its tables."""

    def __init__(self, address: Address) -> None:
        self._address = address
        # The name identifies the sessions of this instance among those of the server.
        name = f"bentham {uuid4().hex}"
        self._writer_name = f"{name} leads"
        self._write_lock = Lock()
        self._writer: Connection | None = None  # set only while it holds the lead
        self._reader = Reconnecting(address, name, READ_SECONDS)  # independent of the lead
        self._has_led = False
        self._closed = False
        self._keepalive_thread: Thread | None = None
        self._ended = Event()

    def head(self) -> int:
        """Return the last sequence number, 0 if the log is empty."""
        return self._reader.run(_head)

    def append(self, records: Sequence[Record]) -> None:
        """Write all or nothing, durable on return; see EventLog."""
        check_records(records)
        with self._write_lock:
            if self._closed:
                raise closed()
            try:
                # A lead that was lost with its connection is taken again, if it is still free.
                if not self._has_led or not self._lead():
                    self._has_led = False
                    raise not_leading()
                if records:
                    assert self._writer is not None
                    _append(self._writer, records)
            except psycopg.Error as error:
                self._drop_writer(error)
                raise self._address.translated(error) from None

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records after a sequence number, in order; blocks no reads or appends."""
        return read_pages(self._fetch, after, limit)

    def _fetch(self, after: int, size: int) -> list[Row]:
        return self._reader.run(
            lambda reader: reader.execute(READ, (after, size), binary=True).fetchall()
        )

    def save_snapshot(self, sequence: int, data: bytes) -> None:
        """Store a snapshot of the fold up to a sequence number; only the latest two are kept."""
        check_snapshot(sequence, self.head())

        def clear(connection: Connection) -> None:
            with connection.transaction():
                connection.execute("DELETE FROM snapshots WHERE sequence = %s", (sequence,))
                connection.execute(OLD_PARTS)

        def keep(connection: Connection) -> None:
            with connection.transaction():
                connection.execute(KEEP, (sequence, len(data)))
                connection.execute(
                    "DELETE FROM snapshots WHERE sequence NOT IN "
                    "(SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT %s)",
                    (SNAPSHOTS,),
                )
                connection.execute(OLD_PARTS)

        self._reader.run(clear)
        for part, start in enumerate(range(0, len(data), PART)):
            row = (sequence, part, data[start : start + PART])
            self._reader.run(partial(Connection.execute, query=KEEP_PART, params=row))
        self._reader.run(keep)

    def load_snapshot(self, before: int | None = None) -> tuple[int, bytes] | None:
        """Return the latest snapshot, or the latest before the given sequence number."""
        return self._reader.run(lambda reader: _load_snapshot(reader, before))

    def drop_snapshots(self) -> None:
        """Delete all snapshots."""

        def drop(connection: Connection) -> None:
            with connection.transaction():
                connection.execute("DELETE FROM snapshots")
                connection.execute("DELETE FROM snapshot_parts")

        self._reader.run(drop)

    def lead(self) -> bool:
        """Try to become the only instance that may append."""
        with self._write_lock:
            if self._closed:
                raise closed()
            try:
                self._has_led = self._lead()
            except psycopg.Error as error:
                self._drop_writer(error)
                raise self._address.translated(error) from None
            return self._has_led

    def _lead(self) -> bool:
        if self._writer is not None:
            if is_alive(self._writer):
                return True
            self._drop_writer()
        connection = self._address.connect(self._writer_name, APPEND_SECONDS)
        try:
            if try_lock(connection) or (
                end_former_sessions(connection, self._writer_name) and try_lock(connection)
            ):
                connection.execute(f"SET idle_session_timeout = '{SILENT_SECONDS}s'".encode())
                self._writer = connection
                self._start_keepalive()
        finally:
            if self._writer is None:
                connection.close()
        return self._writer is not None

    def _start_keepalive(self) -> None:
        if self._keepalive_thread is None:
            # In a thread, since the leader may read a long log, or compute, past the timeout.
            self._keepalive_thread = Thread(
                target=self._keepalive, name="bentham-lead", daemon=True
            )
            self._keepalive_thread.start()

    def _keepalive(self) -> None:
        """Show the server that this process is not frozen."""
        while not self._ended.wait(KEEP_SECONDS):
            if not self._write_lock.acquire(blocking=False):
                continue  # an append is in progress
            try:
                if self._writer is not None:
                    self._writer.execute("SELECT 1")
            except psycopg.Error as error:
                self._drop_writer(error)
            finally:
                self._write_lock.release()

    def _drop_writer(self, error: psycopg.Error | None = None) -> None:
        """Close the connection, and with it the lead, unless it has survived the error."""
        if self._writer is None:
            return
        read_only = isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
        if error is None or read_only or not is_alive(self._writer):
            with suppress(psycopg.Error):
                release_lock(self._writer)
            with suppress(psycopg.Error):
                self._writer.close()
            self._writer = None

    def leads(self) -> bool:
        """Whether this instance still leads: whether the connection with the lock is open."""
        if not self._write_lock.acquire(blocking=False):
            return self._has_led  # an append is in progress, and fails if the lead is lost
        try:
            return self._has_led and self._writer is not None and is_alive(self._writer)
        finally:
            self._write_lock.release()

    def close(self) -> None:
        """Give up the lead and close all connections."""
        with self._write_lock:
            self._closed, self._has_led = True, False
            self._ended.set()
            self._drop_writer()
        self._reader.close()


def _head(connection: Connection) -> int:
    row = connection.execute(HEAD).fetchone()
    return 0 if row is None else int(row[0])


def _append(connection: Connection, records: Sequence[Record]) -> None:
    first = records[0].sequence
    with suppress(psycopg.errors.UniqueViolation):
        if len(records) == 1:
            one = (*_typed(as_row(records[0])), Int8(first - 1))
            written = connection.execute(INSERT_ONE, one, prepare=True).rowcount
        else:
            columns = map(list, zip(*map(_typed, map(as_row, records)), strict=True))
            written = connection.execute(INSERT, (*columns, Int8(first - 1)), prepare=True).rowcount
        if written == len(records):
            return
    existing = connection.execute(READ, (first - 1, len(records)), binary=True).fetchall()
    refuse_other_records(records, existing, _head(connection))


def _typed(row: Row) -> tuple[object, ...]:
    """Give integers one type regardless of size, so that one prepared statement serves all."""
    return (Int8(row[0]), float(row[1]), row[2], Int8(row[3]), *row[4:])


def _load_snapshot(connection: Connection, before: int | None) -> tuple[int, bytes] | None:
    # A snapshot beyond the head belongs to a log that a backup has since replaced.
    rows = connection.execute(
        f"SELECT sequence, size FROM snapshots WHERE sequence < %s AND sequence <= ({HEAD}) "
        "ORDER BY sequence DESC",
        (LARGEST if before is None else before,),
    ).fetchall()
    for sequence, size in rows:
        parts = connection.execute(
            "SELECT data FROM snapshot_parts WHERE sequence = %s ORDER BY part",
            (sequence,),
            binary=True,
        ).fetchall()
        data = b"".join(part for (part,) in parts)
        if len(data) == size:  # otherwise it was replaced in the meantime, or is damaged
            return sequence, data
    return None
