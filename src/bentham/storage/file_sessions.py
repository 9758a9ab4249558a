"""The databases as DatabaseFiles needs them: transactions on connections apart from the log's."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentham.storage.files import Statement
from bentham.storage.postgres_server import FILES_KEY, Address, Connection, Reconnecting
from bentham.storage.sqlite_file import FILE, Reopening

if TYPE_CHECKING:
    from bentham.storage.sqlite_file import sqlite

STATEMENT_SECONDS = 60  # after which PostgreSQL gives up
Rows = list[tuple[Any, ...]]


class SqliteSession:
    """The file of a folder: one connection writes, another reads, as the log's do."""

    def __init__(self, folder: Path) -> None:
        self._writer = Reopening(folder / FILE)
        self._reader = Reopening(folder / FILE)

    def read(self, query: str, values: tuple[object, ...] = ()) -> Rows:
        """The rows that a query finds."""
        return self._reader.run(lambda reader: reader.execute(query, values).fetchall())

    def write(self, statements: Sequence[Statement]) -> Rows:
        """All statements or none, durable on return; the rows of the last one, if it is a query."""

        def work(connection: "sqlite.Connection") -> Rows:
            connection.execute("BEGIN IMMEDIATE")
            rows: Rows = []
            for statement in statements:
                rows = connection.execute(*statement).fetchall()
            connection.execute("COMMIT")
            return rows

        return self._writer.run(work)

    def close(self) -> None:
        """For good."""
        self._reader.close()
        self._writer.close()


class PostgresSession:
    """A database of PostgreSQL, on a connection that has no part in the lead."""

    def __init__(self, address: Address) -> None:
        self._connection = Reconnecting(address, "bentham files", STATEMENT_SECONDS)

    def read(self, query: str, values: tuple[object, ...] = ()) -> Rows:
        """The rows that a query finds."""
        return self._connection.run(lambda connection: _run(connection, (query, values)))

    def write(self, statements: Sequence[Statement]) -> Rows:
        """All statements or none, durable on return; the rows of the last one, if it is a query."""

        def work(connection: Connection) -> Rows:
            rows: Rows = []
            with connection.transaction():
                # One at a time, as in SQLite: a save that ends sees all that a drop has done.
                connection.execute(f"SELECT pg_advisory_xact_lock({FILES_KEY})".encode())
                for statement in statements:
                    rows = _run(connection, statement)
            return rows

        return self._connection.run(work)

    def close(self) -> None:
        """For good."""
        self._connection.close()


def _run(connection: Connection, statement: Statement) -> Rows:
    query, values = statement
    cursor = connection.execute(query.replace("?", "%s").encode(), values, binary=True)
    return cursor.fetchall() if cursor.description is not None else []
