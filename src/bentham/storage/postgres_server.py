"""The PostgreSQL server: how it is reached, what its errors mean, and who holds its lock."""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from bentham.errors import InvalidInput, StorageUnavailable
from bentham.storage.log import closed

LEAD_KEY = 0x42656E7468616D31  # "Bentham1": the advisory lock of the one that leads
UPGRADE_KEY = LEAD_KEY + 1  # held while tables are made
FILES_KEY = LEAD_KEY + 2  # held while a part of a file is written
CONNECT_SECONDS = 5
# A peer that is gone without a word is noticed by either side within some five seconds.
CLIENT = {
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "connect_timeout": CONNECT_SECONDS,
    "target_session_attrs": "read-write",  # of several hosts the one that can be written
}
SERVER: dict[str, object] = {
    "synchronous_commit": "on",
    "tcp_keepalives_idle": 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "lock_timeout": "5s",
    "idle_session_timeout": 0,  # the lead is a session that may have nothing to do for long
    "idle_in_transaction_session_timeout": "30s",
}
CAUSES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.DiskFull, "the server's disk is full; free some space there"),
    (errors.ReadOnlySqlTransaction, "the server is read-only; name the one that can be written"),
    (errors.QueryCanceled, "the server took too long; check its load"),
    (errors.LockNotAvailable, "another session holds a lock; end it, or wait"),
    (errors.InsufficientPrivilege, "access was denied; grant the role its rights"),
    (errors.UndefinedTable, "its tables are gone; restore a backup"),
)
SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
Result = TypeVar("Result")
Connection = psycopg.Connection[Any]


class Address:
    """A URL taken apart once, so that its password gets into no text."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(
                "the database is not given as a URL of PostgreSQL; write it as in "
                "postgresql://user:password@host:5432/database"
            )
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.Error:  # its text may quote a piece of the password
            self._parts = {}
        # A password with a bare / or @ ends up in another part, which would then be shown.
        misread = "@" in f"{self._parts.get('host')}{self._parts.get('dbname')}"
        port = str(self._parts.get("port") or 5432).replace(",", "")
        if not self._parts or misread or not port.isdecimal():
            raise InvalidInput(
                "the URL of the database cannot be read; write postgresql://user:password@host:5432"
                "/database, with special characters of the password escaped, as in %40 for @"
            )
        self._secrets = [str(self._parts[name]) for name in SECRETS if self._parts.get(name)]
        self.name = self._shown()

    def _shown(self) -> str:
        def part(name: str) -> str:
            return quote(str(self._parts.get(name) or ""), safe="/:,[]._-")

        user = part("user") + (":***" if self._secrets else "")
        port = f":{part('port')}" if self._parts.get("port") else ""
        host = part("host")
        if host.startswith("/"):  # the folder of a Unix socket
            return f"postgresql://{user}{'@' * bool(user)}/{part('dbname')}?host={host}"
        return f"postgresql://{user}{'@' * bool(user)}{host}{port}/{part('dbname')}"

    def connect(self, application: str, statement_seconds: int) -> Connection:
        """A connection in autocommit: each statement is a transaction, durable on return."""
        settings: dict[str, Any] = {**CLIENT, **self._parts, "application_name": application}
        settings["client_encoding"] = "utf8"
        connection = psycopg.connect(**settings, autocommit=True)
        try:
            server = {**SERVER, "statement_timeout": f"{statement_seconds}s"}
            connection.execute(
                sql.SQL("; ").join(
                    sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
                    for name, value in server.items()
                )
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def translated(self, error: Exception) -> Exception:
        """An error of PostgreSQL in the words of Bentham, without the password."""
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in self._secrets:
            text = text.replace(secret, "***")
        for kind, cause in CAUSES:
            if isinstance(error, kind):
                return StorageUnavailable(f"{self.name}: {cause} ({text})")
        if isinstance(error, psycopg.DataError):
            return InvalidInput(f"{self.name} cannot store this: {text}")
        return StorageUnavailable(f"{self.name}: {text}; check the server, then try again")


def is_alive(connection: Connection) -> bool:
    """Whether an idle connection is open as far as this side knows; asks nobody."""
    if connection.closed:
        return False
    try:
        connection.pgconn.consume_input()  # takes a farewell, if there is one
        connection.pgconn.consume_input()  # and sees the end of the stream behind it
    except psycopg.Error:
        return False
    return connection.pgconn.transaction_status == TransactionStatus.IDLE


def try_lock(connection: Connection) -> bool:
    """Take the lock of the one that leads, for as long as the connection lives."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s::bigint)", (LEAD_KEY,)).fetchone()
    return row is not None and bool(row[0])


def release_lock(connection: Connection) -> None:
    """Give the lead up now: a closed connection keeps its locks until the server notices."""
    connection.execute("SELECT pg_advisory_unlock(%s::bigint)", (LEAD_KEY,))


def end_former_sessions(connection: Connection, application: str) -> bool:
    """End sessions of this very instance that the server keeps although we lost them.

    Until the server notices that we are gone, such a session holds the lead.
    """
    ended = connection.execute(
        "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity "
        "WHERE application_name = %s AND pid <> pg_backend_pid()",
        (application,),
    ).fetchall()
    return bool(ended)


class Reconnecting:
    """A connection under a lock, opened when needed; whatever it is asked to do may be repeated."""

    def __init__(self, address: Address, application: str, statement_seconds: int) -> None:
        self._address = address
        self._application, self._seconds = application, statement_seconds
        self._lock = Lock()
        self._connection: Connection | None = None
        self._closed = False

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work; what PostgreSQL raises comes out as an error of Bentham."""
        with self._lock:
            if self._closed:
                raise closed()
            fresh = self._connection is None
            try:
                return self._work(work)
            except psycopg.Error as error:
                lost = self._connection is not None and self._connection.closed
                self._drop()
                if fresh or not lost:
                    raise self._address.translated(error) from None
            # A connection may have been cut while nobody used it: once more, with a new one.
            try:
                return self._work(work)
            except psycopg.Error as error:
                self._drop()
                raise self._address.translated(error) from None

    def _work(self, work: Callable[[Connection], Result]) -> Result:
        if self._connection is None:
            self._connection = self._address.connect(self._application, self._seconds)
        return work(self._connection)

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def close(self) -> None:
        """For good."""
        with self._lock:
            self._closed = True
            self._drop()
