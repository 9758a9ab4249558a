"""Full disks, dead servers, cut connections and killed processes."""

import multiprocessing
import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
from support.postgres import PostgresServer
from support.proxy import Proxy
from support.storage_contract import Store, eventually, every_database, record, records

from bentham.errors import SequenceConflict, StorageUnavailable
from bentham.storage import EventLog, PostgresLog, open_log, sqlite_file
from bentham.storage import postgres as postgres_log

KILLS = 20
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["bentham.storage", "support.storage_contract"])


def snapshot(sequence: int) -> bytes:
    return b"%d," % sequence * 300_000


def append_until_killed(url: str | None, folder: Path, acknowledge: Connection) -> None:
    """Append as fast as possible, as another instance, and report each sequence number."""
    log = open_log(url, folder)
    while not log.lead():
        pass
    sequence = log.head()
    while True:
        size = random.randint(1, 5)
        log.append(records(sequence + 1, sequence + size))
        sequence += size
        acknowledge.send(sequence)
        if random.random() < 0.1:
            log.save_snapshot(sequence, snapshot(sequence))


@pytest.mark.outside
@every_database
def test_what_was_acknowledged_survives_kill_9(store: Store) -> None:
    watching = store.open()
    acknowledged = 0
    for number in range(KILLS):
        receive, send = processes.Pipe(duplex=False)
        child = processes.Process(target=append_until_killed, args=(store.url, store.folder, send))
        child.start()
        send.close()
        count = random.Random(number).randint(1, 15)
        with suppress(EOFError):
            for _ in range(count):
                acknowledged = receive.recv()
            assert not watching.lead()  # the other instance leads
            child.kill()
            while True:  # read what it reported before it died
                acknowledged = receive.recv()
        child.join()
        child.close()
        receive.close()
        assert watching.head() >= acknowledged > 0
    eventually(watching.lead)  # PostgreSQL notices the end of a client a moment later
    found = list(watching.read())
    assert found == records(1, len(found))  # no gaps, no partial writes
    saved = watching.load_snapshot()
    assert saved is None or saved[1] == snapshot(saved[0])
    watching.append(records(len(found) + 1, len(found) + 2))


class Disk:
    """A folder that gets full: a small file system or, without the right to mount, a page limit."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self.folder, self._monkeypatch = folder, monkeypatch
        self.mounted = os.geteuid() == 0 and self._mount("size=1m")
        if not self.mounted:
            self._pages(60)

    def _mount(self, options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def _pages(self, count: int) -> None:
        limited = (*sqlite_file.PRAGMAS, f"PRAGMA max_page_count = {count}")
        self._monkeypatch.setattr(sqlite_file, "PRAGMAS", limited)

    def grow(self) -> None:
        if self.mounted:
            assert self._mount("remount,size=64m")
        else:
            self._pages(10_000)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk", monkeypatch)
    yield disk
    disk.close()


def append_until_refused(log: EventLog) -> int:
    """Return the first sequence number that could not be written."""
    for sequence in range(log.head() + 1, 100_000, 3):
        try:
            log.append(records(sequence, sequence + 2))
        except StorageUnavailable:
            with pytest.raises(StorageUnavailable, match="full"):
                log.append(records(sequence, sequence + 2))
            return sequence
    raise AssertionError("the disk never got full")


@pytest.mark.outside
def test_a_full_disk_and_recovery(disk: Disk) -> None:
    log = open_log(None, disk.folder)
    assert log.lead()
    refused = append_until_refused(log)
    assert refused > 10
    with pytest.raises(StorageUnavailable, match="full"):
        log.append(records(refused, refused + 200))
    assert log.leads()
    assert list(log.read()) == records(1, refused - 1)
    with pytest.raises(StorageUnavailable, match="full"):
        log.save_snapshot(refused - 1, bytes(2**21))
    assert log.load_snapshot() is None
    disk.grow()
    log.append(records(refused, refused + 200))
    log.save_snapshot(refused, b"fits")
    assert list(log.read()) == records(1, refused + 200)
    log.close()


def test_a_full_disk_of_the_server(postgres_url: str) -> None:
    log = open_log(postgres_url)
    assert log.lead()
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF NEW.sequence > 20 THEN RAISE 'no space left' USING ERRCODE = 'disk_full'; END IF;"
            "RETURN NEW; END $$"
        )
        admin.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON events "
            "FOR EACH ROW EXECUTE FUNCTION full_disk()"
        )
        assert append_until_refused(log) == 19
        assert log.head() == 18
        assert log.leads()
        admin.execute("DROP TRIGGER full_disk ON events")
    log.append(records(19, 21))
    assert log.head() == 21
    log.close()


def test_a_server_that_dies_and_restarts(postgres: PostgresServer, postgres_url: str) -> None:
    log, other = open_log(postgres_url), open_log(postgres_url)
    assert log.lead()
    log.append(records(1, 3))
    reading = log.read()
    assert next(reading) == record(1)
    postgres.kill()
    eventually(lambda: not log.leads())
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            log.append(records(4, 5))
        with pytest.raises(StorageUnavailable):
            log.head()
        with pytest.raises(StorageUnavailable):
            log.lead()
    postgres.start()
    log.append(records(4, 5))  # leads again, since no other instance does
    assert log.leads()
    assert not other.lead()
    assert list(log.read()) == records(1, 5)
    assert list(reading) == records(2, 3)  # the rest of the page that was already read
    log.close()
    other.close()


def end_sessions(url: str, like: str = "bentham % leads") -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name LIKE %s AND datname = current_database()",
            (like,),
        )


def test_a_former_leader_cannot_write(postgres_url: str) -> None:
    stale, other = open_log(postgres_url), open_log(postgres_url)
    assert stale.lead()
    stale.append(records(1, 2))
    assert not other.lead()
    end_sessions(postgres_url)
    eventually(lambda: not stale.leads())
    assert other.lead()
    with pytest.raises(SequenceConflict, match="does not lead"):
        stale.append(records(3, 3))  # not even if its sequence number is correct
    other.append(records(3, 4))
    other.close()
    with pytest.raises(SequenceConflict, match="does not lead"):
        stale.append([record(3, actor="stale")])  # it must request the lead again
    eventually(stale.lead)  # the server notices the disconnect a moment later
    with pytest.raises(SequenceConflict, match="ends at 4"):
        stale.append([record(3, actor="stale")])
    assert list(stale.read()) == records(1, 4)
    stale.close()


def test_closing_releases_the_lead_at_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Servers end the session of a closed connection a moment later. Simulate one that never does.
    first, second = open_log(postgres_url), open_log(postgres_url)
    assert first.lead()
    assert not second.lead()
    unclosed: list[psycopg.Connection[object]] = []
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "close", lambda connection: unclosed.append(connection))
        first.close()
    assert unclosed
    assert second.lead()
    second.close()
    for connection in unclosed:
        connection.close()


def test_a_frozen_leader_loses_the_lead_and_an_idle_one_keeps_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_log, "KEEP_SECONDS", 0.1)
    monkeypatch.setattr(postgres_log, "SILENT_SECONDS", 0.5)
    frozen, other = open_log(postgres_url), open_log(postgres_url)
    assert isinstance(frozen, PostgresLog)
    assert frozen.lead()
    frozen.append(records(1, 1))
    time.sleep(1.0)  # longer than SILENT_SECONDS, but it sends keep-alives
    assert frozen.leads()
    assert not other.lead()
    with frozen._write_lock:  # as if all its threads were frozen
        eventually(other.lead)
    with pytest.raises(SequenceConflict, match="does not lead"):
        frozen.append(records(2, 2))
    other.append(records(2, 3))
    for log in (frozen, other):
        log.close()


def test_cut_connections_are_reopened(postgres_url: str) -> None:
    log = open_log(postgres_url)
    assert log.lead()
    log.append(records(1, 2))
    assert log.head() == 2
    end_sessions(postgres_url, "bentham %")
    assert log.head() == 2
    eventually(lambda: not log.leads())
    log.append(records(3, 3))
    assert log.leads()
    log.close()


def test_a_cut_while_committing(postgres_url: str) -> None:
    """The commit succeeded without a response, and the server still holds the old session."""
    port = psycopg.conninfo.conninfo_to_dict(postgres_url)["port"]
    proxy = Proxy(int(str(port)))
    log = open_log(postgres_url.replace(f":{port}/", f":{proxy.port}/"))
    assert log.lead()
    log.append(records(1, 2))
    for first in (3, 6):
        proxy.cut_at_next_response()  # the server's connection stays open
        with pytest.raises(StorageUnavailable):
            log.append(records(first, first + 2))
        assert not log.leads()
        log.append(records(first, first + 2))
        assert list(log.read()) == records(1, first + 2)
    log.append(records(9, 9))
    log.close()
    proxy.close()


def test_a_lock_file_that_was_removed_protects_nothing(tmp_path: Path) -> None:
    stale, other = open_log(None, tmp_path), open_log(None, tmp_path)
    assert stale.lead()
    (tmp_path / "lock").unlink()
    assert not stale.leads()
    assert other.lead()
    with pytest.raises(SequenceConflict, match="does not lead"):
        stale.append(records(1, 1))
    assert not stale.lead()
    other.close()
    assert stale.lead()
    stale.close()


def test_a_database_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    log = open_log(None, tmp_path)
    assert log.lead()
    log.append(records(1, 1))
    (tmp_path / "bentham.db").rename(tmp_path / "away")
    with pytest.raises(StorageUnavailable, match="moved or replaced"):
        log.append(records(2, 2))
    (tmp_path / "away").rename(tmp_path / "bentham.db")
    log.append(records(2, 2))
    assert log.head() == 2
    log.close()


def test_a_database_locked_by_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    log = open_log(None, tmp_path)
    assert log.lead()
    other = sqlite_file.connect(tmp_path / "bentham.db")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable, match="holds its lock"):
        log.append(records(1, 1))
    assert log.head() == 0
    other.execute("ROLLBACK")
    other.close()
    log.append(records(1, 1))
    log.close()
