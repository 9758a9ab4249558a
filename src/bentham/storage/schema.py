"""The tables: made in an empty database, checked at every start, migrated only when asked.

An empty database, SQLite or PostgreSQL, gets the newest tables by itself. One that holds data is
changed by `bentham db upgrade` alone, so that nobody upgrades a production database by accident.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bentham.errors import SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Engine

VERSION_TABLE = "bentham_version"  # alembic's own name is taken where others use alembic too
REVISIONS = ("0001", "0002")  # all there are, in order; a test holds them to the migrations
Query = Callable[[str], list[tuple[Any, ...]]]


class Place(Protocol):
    """Where the database is: a folder with SQLite's file, or the URL of PostgreSQL."""

    @property
    def name(self) -> str:
        """For people, without a password."""

    @property
    def option(self) -> str:
        """The option of the command line that names this place, without a password."""

    @property
    def tables(self) -> str:
        """The query for the names of all tables."""

    def exists(self) -> bool:
        """Whether there is anything to connect to."""

    def make(self) -> None:
        """Make what connections need, apart from tables."""

    def session(self) -> AbstractContextManager[Query]:
        """A connection that runs queries; its errors come out as errors of Bentham."""

    def translated(self, error: Exception) -> Exception:
        """An error of the database in the words of Bentham."""

    def stopped(self) -> AbstractContextManager[bool]:
        """Whether no instance leads, and none can begin to while this is held."""

    def engine(self) -> "Engine":
        """What alembic works through."""

    def warnings(self, query: Query) -> list[str]:
        """What is allowed, but should be known."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A database that this version of Bentham can use."""

    name: str
    revision: str
    events: int
    warnings: tuple[str, ...]


def revision_of(place: Place, query: Query) -> str | None:
    """The revision of the tables, None if there are none at all; refuse what is not Bentham's."""
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
            f"{place.name} was made by a newer Bentham (its revision is {revision}, this one knows "
            f"up to {REVISIONS[-1]}); use a newer Bentham"
        )


def _remedy(place: Place) -> str:
    return f"run: bentham db upgrade {place.option}"


def check(place: Place) -> Condition:
    """Refuse a database that this version cannot use, and say what to do."""
    if not place.exists():
        raise SchemaMismatch(f"there is no database in {place.name}; {_remedy(place)}")
    with place.session() as query:
        revision = revision_of(place, query)
        if revision is None:
            raise SchemaMismatch(f"{place.name} is empty; {_remedy(place)}")
        _refuse_newer(place, revision)
        if revision != REVISIONS[-1]:
            raise SchemaMismatch(
                f"{place.name} has the tables of an older Bentham (revision {revision}, needed is "
                f"{REVISIONS[-1]}); make a backup, stop all instances, then {_remedy(place)}"
            )
        ((events,),) = query("SELECT coalesce(max(sequence), 0) FROM events")
        return Condition(place.name, revision, events, tuple(place.warnings(query)))


def create_if_empty(place: Place) -> bool:
    """Make the newest tables in a database without any; True if they were made."""
    if place.exists():
        with place.session() as query:
            if revision_of(place, query) is not None:
                return False
    place.make()
    return _migrate(place, only_empty=True) is None


def upgrade(place: Place) -> tuple[str | None, str]:
    """Bring the tables to the newest revision; return the one before (None: empty) and the new."""
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
    """Run the migrations in one transaction; return the revision found at its beginning."""
    from alembic import command  # here, since only this needs it and it takes its time
    from alembic.config import Config
    from sqlalchemy.exc import DBAPIError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = place.engine()
    try:
        with engine.begin() as connection:
            # Looked at again: another instance may have been quicker, and now it is locked out.
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
