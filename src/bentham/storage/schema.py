"""The tables: created in an empty database, checked at every start, migrated only on request.

In an empty database, SQLite or PostgreSQL, the newest tables are created automatically. A database
with data is changed only by `bentham db upgrade`, so that a production database is never upgraded
by accident.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bentham.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Engine

VERSION_TABLE = "bentham_version"  # other applications may use Alembic's default name
REVISIONS = ("0001", "0002")  # all of them, in order; a test compares them with the migrations
Query = Callable[[str], list[tuple[Any, ...]]]


class Place(Protocol):
    """The location of a database: a folder with a SQLite file, or a PostgreSQL URL."""

    @property
    def name(self) -> str:
        """The name for messages, without a password."""

    @property
    def option(self) -> str:
        """The command-line option that names this place, without a password."""

    @property
    def tables(self) -> str:
        """The query for the names of all tables."""

    def exists(self) -> bool:
        """Whether there is anything to connect to."""

    def make(self) -> None:
        """Create what connections need, apart from tables."""

    def session(self) -> AbstractContextManager[Query]:
        """Open a connection for queries; its errors are converted to errors of Bentham."""

    def translated(self, error: Exception) -> Exception:
        """Convert an error of the database to an error of Bentham."""

    def stopped(self) -> AbstractContextManager[bool]:
        """Return whether no instance leads; if so, none can start to lead in this context."""

    def engine(self) -> "Engine":
        """Return the engine for Alembic."""

    def warnings(self, query: Query) -> list[str]:
        """Return warnings about a setup that works but can lose data."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A database that this version of Bentham can use."""

    name: str
    revision: str
    events: int
    warnings: tuple[str, ...]


def revision_of(place: Place, query: Query) -> str | None:
    """Return the revision of the tables, None if there are none; raise if not Bentham's."""
    tables = {name for (name,) in query(place.tables)}
    if not tables:
        return None
    rows = query(f"SELECT version_num FROM {VERSION_TABLE}") if VERSION_TABLE in tables else []
    if len(rows) != 1:
        found = ", ".join(sorted(tables)[:3])
        raise SchemaMismatch(
            f"{place.name} holds tables that are not Bentham's ({found}); give Bentham a database "
            "of its own, with --data or --database"
        )
    return str(rows[0][0])


def _refuse_newer(place: Place, revision: str) -> None:
    if revision not in REVISIONS:
        raise SchemaMismatch(
            f"{place.name} was made by a newer Bentham (its revision is {revision}, this version "
            f"supports up to {REVISIONS[-1]}); use a newer Bentham"
        )


def _remedy(place: Place) -> str:
    return f"run: bentham db upgrade {place.option}"


def check(place: Place) -> Condition:
    """Return the condition of a database; raise, with a remedy, if this version cannot use it."""
    if not place.exists():
        raise SchemaMismatch(f"there is no database in {place.name}; {_remedy(place)}")
    with place.session() as query:
        revision = revision_of(place, query)
        if revision is None:
            raise SchemaMismatch(f"{place.name} is empty; {_remedy(place)}")
        _refuse_newer(place, revision)
        if revision != REVISIONS[-1]:
            raise SchemaMismatch(
                f"{place.name} has the tables of an older Bentham (revision {revision}, required "
                f"is {REVISIONS[-1]}); make a backup, stop all instances, then {_remedy(place)}"
            )
        ((events,),) = query("SELECT coalesce(max(sequence), 0) FROM events")
        return Condition(place.name, revision, events, tuple(place.warnings(query)))


def create_if_empty(place: Place) -> bool:
    """Create the newest tables in a database without any; True if they were created."""
    if place.exists():
        with place.session() as query:
            if revision_of(place, query) is not None:
                return False
    place.make()
    return _migrate(place, only_empty=True) is None


def upgrade(place: Place) -> tuple[str | None, str]:
    """Upgrade the tables; return the revision before (None: empty) and the newest revision."""
    place.make()
    with place.session() as query:
        before = revision_of(place, query)
    if before is not None:
        _refuse_newer(place, before)
        if before == REVISIONS[-1]:
            return before, before
    with place.stopped() as stopped:
        if not stopped:
            raise SchemaMismatch(
                f"a running Bentham uses {place.name}; stop all instances, then upgrade again"
            )
        return _migrate(place, only_empty=False), REVISIONS[-1]


def _migrate(place: Place, *, only_empty: bool) -> str | None:
    """Run the migrations in one transaction; return the revision found at its start."""
    from alembic import command  # here, since the import is slow and only needed here
    from alembic.config import Config
    from sqlalchemy.exc import DBAPIError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = place.engine()
    try:
        with engine.begin() as connection:
            # Check again: another instance may have been faster, but now it is locked out.
            before = revision_of(
                place, lambda sql: [tuple(row) for row in connection.exec_driver_sql(sql)]
            )
            if before is None or not only_empty:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            return before
    except DBAPIError as error:
        raise place.translated(error.orig if isinstance(error.orig, Exception) else error) from None
    finally:
        engine.dispose()
