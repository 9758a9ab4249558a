"""The PostgreSQL server: its connections, the meaning of its errors, and its locks."""

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

LEAD_KEY = 0x42656E7468616D31  # "Bentham1": the advisory lock of the leading instance
UPGRADE_KEY = LEAD_KEY + 1  # held while tables are created
FILES_KEY = LEAD_KEY + 2  # held while a part of a file is written
CONNECT_SECONDS = 5
# Either side notices within about five seconds if the other has disappeared silently.
CLIENT = {
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "connect_timeout": CONNECT_SECONDS,
    "target_session_attrs": "read-write",  # of several hosts, the one that accepts writes
}
SERVER: dict[str, object] = {
    "synchronous_commit": "on",
    "tcp_keepalives_idle": 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "lock_timeout": "5s",
    "idle_session_timeout": 0,  # sessions may be idle for long; the leading one sets its own
    "idle_in_transaction_session_timeout": "30s",
}
CAUSES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.DiskFull, "the server's disk is full; free some space there"),
    (errors.ReadOnlySqlTransaction, "the server is read-only; name the one that accepts writes"),
    (errors.QueryCanceled, "the server took too long; check its load"),
    (errors.LockNotAvailable, "another session holds a lock; end it, or wait"),
    (errors.InsufficientPrivilege, "access was denied; grant the role its privileges"),
    (errors.UndefinedTable, "its tables are missing; restore a backup"),
)
SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
Result = TypeVar("Result")
Connection = psycopg.Connection[Any]


class Address:
    """A URL, parsed once, so that its password appears in no text."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(
                "the database is not given as a PostgreSQL URL; write it like "
                "postgresql://user:password@host:5432/database"
            )
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.Error:  # its text may quote a part of the password
            self._parts = {}
        # An unescaped / or @ in a password moves it to another part, which would then be shown.
        misread = "@" in f"{self._parts.get('host')}{self._parts.get('dbname')}"
        port = str(self._parts.get("port") or 5432).replace(",", "")
        if not self._parts or misread or not port.isdecimal():
            raise InvalidInput(
                "the URL of the database is invalid; write postgresql://user:password@host:5432"
                "/database, with special characters of the password escaped, such as %40 for @"
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
        """Connect in autocommit mode: each statement is a transaction, durable on return."""
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
        """Convert an error of PostgreSQL to an error of Bentham, without the password."""
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
    """Whether an idle connection is open as far as this side knows; sends no query."""
    if connection.closed:
        return False
    try:
        connection.pgconn.consume_input()  # reads the server's last message, if there is one
        connection.pgconn.consume_input()  # notices the end of the stream after it
    except psycopg.Error:
        return False
    return connection.pgconn.transaction_status == TransactionStatus.IDLE


def try_lock(connection: Connection) -> bool:
    """Try to take the lock of the leading instance, held as long as the connection lives."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s::bigint)", (LEAD_KEY,)).fetchone()
    return row is not None and bool(row[0])


def release_lock(connection: Connection) -> None:
    """Give up the lead now: a closed connection keeps its locks until the server notices."""
    connection.execute("SELECT pg_advisory_unlock(%s::bigint)", (LEAD_KEY,))


def end_former_sessions(connection: Connection, application: str) -> bool:
    """End sessions that this instance has lost, but the server still keeps.

    Until the server notices that the connection is gone, such a session holds the lead.
    """
    ended = connection.execute(
        "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity "
        "WHERE application_name = %s AND pid <> pg_backend_pid()",
        (application,),
    ).fetchall()
    return bool(ended)


class Reconnecting:
    """A connection under a lock, opened when needed; all its work must be safe to repeat."""

    def __init__(self, address: Address, application: str, statement_seconds: int) -> None:
        self._address = address
        self._application, self._seconds = application, statement_seconds
        self._lock = Lock()
        self._connection: Connection | None = None
        self._closed = False

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work; errors of PostgreSQL are converted to errors of Bentham."""
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
            # The connection may have been cut while idle: retry once with a new one.
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
        """Close the connection; it is not opened again."""
        with self._lock:
            self._closed = True
            self._drop()
