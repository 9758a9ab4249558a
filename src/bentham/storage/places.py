"""Locations of a database: SQLite in a folder, or PostgreSQL at a URL."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import psycopg

from bentham.errors import SchemaMismatch
from bentham.storage.postgres_server import UPGRADE_KEY, Address, release_lock
from bentham.storage.postgres_server import try_lock as try_advisory_lock
from bentham.storage.schema import Place, Query
from bentham.storage.sqlite_file import (
    FILE,
    connect,
    make_folder,
    open_existing,
    sqlite,
    translated,
    try_lock,
    version_warning,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

UPGRADE_SECONDS = 3600  # a migration may rewrite a long log
DEFAULT_FOLDER = Path("bentham-data")


class SqlitePlace:
    """A folder with `bentham.db`."""

    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder / FILE)
        self.option = f"--data {quote(str(folder))}"

    def exists(self) -> bool:
        """Whether the file exists."""
        return (self.folder / FILE).is_file()

    def make(self) -> None:
        """Create the folder, and an empty file."""
        make_folder(self.folder)

    @contextmanager
    def session(self) -> Iterator[Query]:
        """Open a connection, and return a function that runs queries on it."""
        try:
            with closing(open_existing(self.folder / FILE)) as connection:
                yield lambda sql: connection.execute(sql).fetchall()
        except sqlite.Error as error:
            raise self.translated(error) from None

    def translated(self, error: Exception) -> Exception:
        """Convert an error of the database to an error of Bentham."""
        return translated(self.folder / FILE, error)

    @contextmanager
    def stopped(self) -> Iterator[bool]:
        """Return whether no instance leads; if so, none can start to lead in this context."""
        handle = try_lock(self.folder)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)

    def engine(self) -> "Engine":
        """Return the engine for Alembic: each transaction locks the database from its start."""
        from sqlalchemy import NullPool, create_engine, event

        def begin(connection: "Connection") -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        engine = create_engine(
            "sqlite://",
            module=sqlite,
            creator=lambda: connect(self.folder / FILE),
            poolclass=NullPool,
        )
        event.listen(engine, "begin", begin)
        return engine

    def warnings(self, query: Query) -> list[str]:  # noqa: ARG002 - only PostgreSQL needs it
        """Return warnings about a setup that works but can lose data."""
        warning = version_warning()
        return [] if warning is None else [warning]


class PostgresPlace:
    """A database at a URL."""

    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self.name = self.address.name
        self.option = f"--database {quote(self.name)}"

    def exists(self) -> bool:
        """Return True: only connecting shows whether a database exists."""
        return True

    def make(self) -> None:
        """Do nothing: the administrator of the server creates databases."""

    @contextmanager
    def session(self) -> Iterator[Query]:
        """Open a connection, and return a function that runs queries on it."""
        try:
            with closing(self._connect()) as connection:
                self._check_encoding(connection)
                yield lambda sql: connection.execute(sql).fetchall()
        except psycopg.Error as error:
            raise self.translated(error) from None

    def _check_encoding(self, connection: psycopg.Connection[Any]) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise SchemaMismatch(
                f"{self.name} has the encoding {encoding}, which cannot store every text; create "
                "the database with: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )

    def _connect(self) -> psycopg.Connection[Any]:
        return self.address.connect("bentham schema", UPGRADE_SECONDS)

    def translated(self, error: Exception) -> Exception:
        """Convert an error of the database to an error of Bentham."""
        return self.address.translated(error)

    @contextmanager
    def stopped(self) -> Iterator[bool]:
        """Return whether no instance leads; if so, none can start to lead in this context."""
        try:
            with closing(self._connect()) as connection:
                held = try_advisory_lock(connection)
                try:
                    yield held
                finally:
                    if held:  # a broken connection has already lost it
                        with suppress(psycopg.Error):
                            release_lock(connection)
        except psycopg.Error as error:
            raise self.translated(error) from None

    def engine(self) -> "Engine":
        """Return the engine for Alembic: a lock lets one process at a time create tables."""
        from sqlalchemy import NullPool, create_engine, event

        def begin(connection: "Connection") -> None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_KEY})")

        def connect() -> psycopg.Connection[Any]:
            connection = self._connect()
            connection.autocommit = False
            return connection

        engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
        event.listen(engine, "begin", begin)
        return engine

    def warnings(self, query: Query) -> list[str]:
        """Return warnings about a setup that works but can lose data."""
        ((fsync,),) = query("SELECT current_setting('fsync')")
        if fsync == "on":
            return []
        return [f"{self.name}: fsync is off, so a power cut loses data; turn it on in the server"]


def place_of(url: str | None = None, folder: Path | None = None) -> Place:
    """Return the place at the URL if there is one, else the folder, else the default folder."""
    if url:
        return PostgresPlace(url)
    return SqlitePlace(DEFAULT_FOLDER if folder is None else folder)
