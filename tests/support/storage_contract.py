"""Shared by tests of logs and files: a database of each kind, opened any number of times."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bentham.storage import (
    EventLog,
    Files,
    MemoryDatabase,
    MemoryFiles,
    MemoryLog,
    Record,
    open_files,
    open_log,
)

DATABASES = ("sqlite", "postgresql")
KINDS = ("memory", *DATABASES)
DEADLINE = 20.0


def record(sequence: int, **other: object) -> Record:
    body = json.dumps({"study": "s", "number": sequence, "zero": "\0"})
    fields: dict[str, object] = {
        "sequence": sequence, "time": 1.7e9 + sequence / 3, "kind": "tested", "version": 1,
        "actor": "server", "request": "", "tenant": "t", "key": "", "body": body,
    }  # fmt: skip
    return Record(**{**fields, **other})  # type: ignore[arg-type]


def records(first: int, last: int) -> list[Record]:
    return [record(sequence) for sequence in range(first, last + 1)]


def eventually(condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + DEADLINE
        time.sleep(0.02)


class Store:
    """One database; every `open` acts as another instance of the service."""

    def __init__(self, kind: str, url: str | None, folder: Path) -> None:
        self.kind, self.url, self.folder = kind, url, folder
        self._memory = MemoryDatabase()
        self._opened: list[EventLog | Files] = []

    def open(self, url: str | None = None) -> EventLog:
        log: EventLog
        if self.kind == "memory":
            log = MemoryLog(self._memory)
        else:
            log = open_log(url or self.url, self.folder)
        self._opened.append(log)
        return log

    def leader(self) -> EventLog:
        log = self.open()
        assert log.lead()
        return log

    def files(self, url: str | None = None) -> Files:
        files: Files
        if self.kind == "memory":
            files = MemoryFiles(self._memory)
        else:
            files = open_files(url or self.url, self.folder)
        self._opened.append(files)
        return files

    def close(self) -> None:
        for opened in self._opened:
            opened.close()


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A database of the kind that the test is parametrised with."""
    kind = request.param
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else None
    store = Store(kind, url, tmp_path / "data")
    yield store
    store.close()


every_kind = pytest.mark.parametrize("store", KINDS, indirect=True)
every_database = pytest.mark.parametrize("store", DATABASES, indirect=True)
