"""Where a database can be: SQLite in a folder, or PostgreSQL behind a URL."""

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
    look,
    make_folder,
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
        """Whether there is a file."""
        return (self.folder / FILE).is_file()

    def make(self) -> None:
        """Make the folder, and an empty file."""
        make_folder(self.folder)

    @contextmanager
    def session(self) -> Iterator[Query]:
        """A connection that runs queries."""
        try:
            with closing(look(self.folder / FILE)) as connection:
                yield lambda sql: connection.execute(sql).fetchall()
        except sqlite.Error as error:
            raise self.translated(error) from None

    def translated(self, error: Exception) -> Exception:
        """An error of the database in the words of Bentham."""
        return translated(self.folder / FILE, error)

    @contextmanager
    def stopped(self) -> Iterator[bool]:
        """Whether no instance leads, and none can begin to while this is held."""
        handle = try_lock(self.folder)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)

    def engine(self) -> "Engine":
        """What alembic works through: each transaction locks the database from its beginning."""
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

    def warnings(self, query: Query) -> list[str]:  # noqa: ARG002 - PostgreSQL has to ask
        """What is allowed, but should be known."""
        warning = version_warning()
        return [] if warning is None else [warning]


class PostgresPlace:
    """A database behind a URL."""

    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self.name = self.address.name
        self.option = f"--database {quote(self.name)}"

    def exists(self) -> bool:
        """A database cannot be made from here: connecting will tell."""
        return True

    def make(self) -> None:
        """Nothing: databases are made by who runs the server."""

    @contextmanager
    def session(self) -> Iterator[Query]:
        """A connection that runs queries."""
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
                f"{self.name} has the encoding {encoding}, which cannot store every text; make the "
                "database with: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )

    def _connect(self) -> psycopg.Connection[Any]:
        return self.address.connect("bentham schema", UPGRADE_SECONDS)

    def translated(self, error: Exception) -> Exception:
        """An error of the database in the words of Bentham."""
        return self.address.translated(error)

    @contextmanager
    def stopped(self) -> Iterator[bool]:
        """Whether no instance leads, and none can begin to while this is held."""
        try:
            with closing(self._connect()) as connection:
                held = try_advisory_lock(connection)
                try:
                    yield held
                finally:
                    if held:  # a connection that broke has lost it already
                        with suppress(psycopg.Error):
                            release_lock(connection)
        except psycopg.Error as error:
            raise self.translated(error) from None

    def engine(self) -> "Engine":
        """What alembic works through: one that makes tables at a time."""
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
        """What is allowed, but should be known."""
        ((fsync,),) = query("SELECT current_setting('fsync')")
        if fsync == "on":
            return []
        return [f"{self.name}: fsync is off, so a power cut loses data; turn it on in the server"]


def place_of(url: str | None = None, folder: Path | None = None) -> Place:
    """The place asked for: the URL if there is one, else the folder, else the usual one."""
    if url:
        return PostgresPlace(url)
    return SqlitePlace(DEFAULT_FOLDER if folder is None else folder)
