"""Database sessions for DatabaseFiles: transactions on connections separate from the log's."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentham.storage.files import Statement
from bentham.storage.postgres_server import FILES_KEY, Address, Connection, Reconnecting
from bentham.storage.sqlite_file import FILE, Reopening

if TYPE_CHECKING:
    from bentham.storage.sqlite_file import sqlite

STATEMENT_SECONDS = 60  # statement timeout of PostgreSQL
Rows = list[tuple[Any, ...]]


class SqliteSession:
    """The SQLite file of a folder: one connection writes and another reads, as for the log."""

    def __init__(self, folder: Path) -> None:
        self._writer = Reopening(folder / FILE)
        self._reader = Reopening(folder / FILE)

    def read(self, query: str, values: tuple[object, ...] = ()) -> Rows:
        """Return the rows of a query."""
        return self._reader.run(lambda reader: reader.execute(query, values).fetchall())

    def write(self, statements: Sequence[Statement]) -> Rows:
        """Run all statements or none, durable on return; return the rows of the last, if any."""

        def work(connection: "sqlite.Connection") -> Rows:
            connection.execute("BEGIN IMMEDIATE")
            rows: Rows = []
            for statement in statements:
                rows = connection.execute(*statement).fetchall()
            connection.execute("COMMIT")
            return rows

        return self._writer.run(work)

    def close(self) -> None:
        """Close all connections; the session cannot be used again."""
        self._reader.close()
        self._writer.close()


class PostgresSession:
    """A PostgreSQL database, on a connection that is independent of leadership."""

    def __init__(self, address: Address) -> None:
        self._connection = Reconnecting(address, "bentham files", STATEMENT_SECONDS)

    def read(self, query: str, values: tuple[object, ...] = ()) -> Rows:
        """Return the rows of a query."""
        return self._connection.run(lambda connection: _run(connection, (query, values)))

    def write(self, statements: Sequence[Statement]) -> Rows:
        """Run all statements or none, durable on return; return the rows of the last, if any."""

        def work(connection: Connection) -> Rows:
            rows: Rows = []
            with connection.transaction():
                # One at a time, as in SQLite: a save that completes sees all effects of a drop.
                connection.execute(f"SELECT pg_advisory_xact_lock({FILES_KEY})".encode())
                for statement in statements:
                    rows = _run(connection, statement)
            return rows

        return self._connection.run(work)

    def close(self) -> None:
        """Close all connections; the session cannot be used again."""
        self._connection.close()


def _run(connection: Connection, statement: Statement) -> Rows:
    query, values = statement
    cursor = connection.execute(query.replace("?", "%s").encode(), values, binary=True)
    return cursor.fetchall() if cursor.description is not None else []
