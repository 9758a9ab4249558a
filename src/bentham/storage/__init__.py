"""Storage for the log and the files of the live service: SQLite or PostgreSQL."""

import logging
from pathlib import Path

from bentham.storage.file_sessions import PostgresSession, SqliteSession
from bentham.storage.files import DatabaseFiles, Files, MemoryFiles
from bentham.storage.log import EventLog, Record
from bentham.storage.memory import MemoryDatabase, MemoryLog
from bentham.storage.places import DEFAULT_FOLDER, PostgresPlace, SqlitePlace, place_of
from bentham.storage.postgres import PostgresLog
from bentham.storage.schema import Condition, check, create_if_empty, upgrade
from bentham.storage.sqlite import SqliteLog

__all__ = [
    "DEFAULT_FOLDER",
    "Condition",
    "DatabaseFiles",
    "EventLog",
    "Files",
    "MemoryDatabase",
    "MemoryFiles",
    "MemoryLog",
    "PostgresLog",
    "PostgresPlace",
    "Record",
    "SqliteLog",
    "SqlitePlace",
    "check",
    "create_if_empty",
    "open_files",
    "open_log",
    "place_of",
    "upgrade",
]


def open_log(
    url: str | None = None, folder: Path | None = None, *, must_exist: bool = False
) -> EventLog:
    """Open the log at a PostgreSQL URL, or else in a folder; creates tables if there are none.

    With `must_exist` nothing is created. Raises SchemaMismatch if this version of Bentham cannot
    use the database.
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


def open_files(url: str | None = None, folder: Path | None = None) -> Files:
    """Open the files in the same database as the log; creates tables if there are none."""
    place = place_of(url, folder)
    create_if_empty(place)
    check(place)
    if isinstance(place, PostgresPlace):
        return DatabaseFiles(PostgresSession(place.address))
    assert isinstance(place, SqlitePlace)
    return DatabaseFiles(SqliteSession(place.folder))
