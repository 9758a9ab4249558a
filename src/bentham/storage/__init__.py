"""Where the live service keeps its log: SQLite or PostgreSQL behind one small protocol."""

import logging
from pathlib import Path

from bentham.storage.log import EventLog, Record
from bentham.storage.memory import MemoryDatabase, MemoryLog
from bentham.storage.places import DEFAULT_FOLDER, PostgresPlace, SqlitePlace, place_of
from bentham.storage.postgres import PostgresLog
from bentham.storage.schema import Condition, check, create_if_empty, upgrade
from bentham.storage.sqlite import SqliteLog

__all__ = [
    "DEFAULT_FOLDER",
    "Condition",
    "EventLog",
    "MemoryDatabase",
    "MemoryLog",
    "PostgresLog",
    "PostgresPlace",
    "Record",
    "SqliteLog",
    "SqlitePlace",
    "check",
    "create_if_empty",
    "open_log",
    "place_of",
    "upgrade",
]


def open_log(
    url: str | None = None, folder: Path | None = None, *, must_exist: bool = False
) -> EventLog:
    """Open the log of a PostgreSQL URL, or else of a folder; an empty database gets its tables.

    With `must_exist` nothing is made. A database that does not fit raises SchemaMismatch.
    """
    place = place_of(url, folder)
    if not must_exist:
        create_if_empty(place)
    for warning in check(place).warnings:
        logging.getLogger(__name__).warning(warning)
    if isinstance(place, PostgresPlace):
        return PostgresLog(place.address)
    assert isinstance(place, SqlitePlace)
    return SqliteLog(place.folder)
