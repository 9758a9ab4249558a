"""The tables: append-only, created if missing, refused if incompatible."""

import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from threading import Thread, Timer

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from support.commands import Bentham, assert_refused
from support.postgres import PASSWORD, PostgresServer
from support.storage_contract import Store, every_database, records

import bentham.storage
from bentham.errors import InvalidInput, SchemaMismatch, StorageUnavailable
from bentham.storage import (
    check,
    create_if_empty,
    open_files,
    open_log,
    place_of,
    schema,
    sqlite_file,
    upgrade,
)


def execute(store: Store, *statements: str) -> None:
    """Execute statements without Bentham, as another program would."""
    if store.url is None:
        store.folder.mkdir(exist_ok=True)
        connection = sqlite3.connect(store.folder / "bentham.db")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        finally:
            connection.close()
    else:
        with psycopg.connect(store.url) as session:
            for statement in statements:
                session.execute(statement.encode())


def arguments(store: Store) -> Sequence[object]:
    return ("--data", store.folder) if store.url is None else ("--database", store.url)


@every_database
def test_events_are_append_only_for_all_programs(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 3))
    columns = "(sequence, time, kind, version, actor, request, tenant, key, body)"
    row = "0, 'k', 1, 'a', 'r', 't', 'k', 'b'"
    attempts = ["UPDATE events SET body = ''", "DELETE FROM events WHERE sequence = 3"]
    if store.url is None:
        attempts += [
            f"INSERT OR REPLACE INTO events {columns} VALUES (3, {row})",
            f"INSERT INTO events {columns} VALUES (5, {row})",
        ]
    else:
        attempts += [
            "TRUNCATE events",
            f"INSERT INTO events {columns} VALUES (3, {row}) "
            "ON CONFLICT (sequence) DO UPDATE SET body = ''",
        ]
    for attempt in attempts:
        with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match="append-only"):
            execute(store, attempt)
    assert list(log.read()) == records(1, 3)


def test_the_known_revisions_are_the_migrations() -> None:
    config = Config()
    folder = Path(bentham.storage.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(found)) == schema.REVISIONS


@every_database
def test_tables_are_created_in_an_empty_database(store: Store, bentham: Bentham) -> None:
    assert_refused(bentham, "db", "check", *arguments(store), contains=["bentham db upgrade"])
    with pytest.raises(SchemaMismatch, match="bentham db upgrade"):
        open_log(store.url, store.folder, must_exist=True)
    place = place_of(store.url, store.folder)
    assert create_if_empty(place)
    assert not create_if_empty(place)
    assert check(place).events == 0
    store.leader().append(records(1, 2))
    assert check(place).events == 2
    open_log(store.url, store.folder, must_exist=True).close()


@every_database
def test_several_instances_may_start_at_once(store: Store) -> None:
    created: list[bool] = []
    place = place_of(store.url, store.folder)
    threads = [Thread(target=lambda: created.append(create_if_empty(place))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(created) == [False, False, False, True]


def test_creation_waits_for_another_writer(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    sqlite_file.make_folder(folder)
    writer = sqlite_file.open_existing(folder / sqlite_file.FILE)
    writer.execute("BEGIN IMMEDIATE")  # SQLite does not wait for this lock when it switches to WAL
    Timer(0.2, lambda: writer.execute("COMMIT")).start()
    sqlite_file.connect(folder / sqlite_file.FILE).close()
    writer.close()


@every_database
def test_the_command_line_creates_and_checks(store: Store, bentham: Bentham) -> None:
    done = bentham("db", "upgrade", *arguments(store))
    assert (done.code, done.err) == (0, "")
    assert "created the tables, revision 0002" in done.out
    assert "nothing to do" in bentham("db", "upgrade", *arguments(store)).out
    assert '"before": "0002"' in bentham("db", "upgrade", *arguments(store), "--json").out
    store.leader().append(records(1, 3))
    assert (
        "nothing to do" in bentham("db", "upgrade", *arguments(store)).out
    )  # while a leader is running
    for done in (
        bentham("db", "check", *arguments(store)),
        bentham("db", "check", *arguments(store), "--json"),
    ):
        assert done.code == 0
        assert PASSWORD not in done.out
        assert "0002" in done.out
        assert "3" in done.out


def test_the_url_may_come_from_the_environment(
    postgres_url: str, bentham: Bentham, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENTHAM_DATABASE", postgres_url)
    assert "postgresql://postgres:***@127.0.0.1" in bentham("db", "upgrade").out
    assert list(tmp_path.iterdir()) == []


@every_database
def test_an_older_database_is_upgraded_only_when_asked(
    store: Store, bentham: Bentham, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = store.leader()
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002", "0003"))
    with pytest.raises(SchemaMismatch, match=r"older Bentham.*backup.*bentham db upgrade --data"):
        store.open()
    assert_refused(bentham, "db", "upgrade", *arguments(store), contains=["running", "stop all"])
    running.close()


@every_database
def test_a_database_of_revision_0001_keeps_its_data(
    store: Store, bentham: Bentham, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = command.upgrade
    with monkeypatch.context() as patch:  # as the first version with a log
        patch.setattr(schema, "REVISIONS", ("0001",))
        patch.setattr(command, "upgrade", lambda config, _: newest(config, "0001"))
        log = store.leader()
        log.append(records(1, 1500))
        log.save_snapshot(1000, b"snapshot" * 300_000)
        log.close()
    for open_ in (open_log, open_files):
        with pytest.raises(SchemaMismatch, match=r"revision 0001.*bentham db upgrade"):
            open_(store.url, store.folder)
    done = bentham("db", "upgrade", *arguments(store))
    assert (done.code, done.err) == (0, "")
    assert "upgraded from revision 0001 to 0002" in done.out
    assert "nothing to do" in bentham("db", "upgrade", *arguments(store)).out
    log, files = store.leader(), store.files()
    assert list(log.read()) == records(1, 1500)
    assert log.load_snapshot() == (1000, b"snapshot" * 300_000)
    log.append(records(1501, 1502))
    files.save("key", [b"data"])
    assert files.size("key") == 4


@every_database
def test_a_newer_database_is_refused(store: Store, bentham: Bentham) -> None:
    store.open().close()
    execute(store, "UPDATE bentham_version SET version_num = '0099'")
    for name in ("check", "upgrade"):
        assert_refused(bentham, "db", name, *arguments(store), contains=["0099", "use a newer"])
    with pytest.raises(SchemaMismatch, match="use a newer Bentham"):
        store.open()


@every_database
def test_tables_of_other_programs_are_refused(store: Store, bentham: Bentham) -> None:
    execute(store, "CREATE TABLE alembic_version (version_num TEXT)", "CREATE TABLE mine (a TEXT)")
    for name in ("check", "upgrade"):
        assert_refused(bentham, "db", name, *arguments(store), contains=["mine", "of its own"])
    with pytest.raises(SchemaMismatch, match="not Bentham's"):
        store.open()


def test_a_database_of_another_program_is_not_changed(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "bentham.db")
    connection.execute("CREATE TABLE mine (a TEXT)")
    connection.close()
    before = (tmp_path / "bentham.db").read_bytes()
    for attempt in (check, create_if_empty, upgrade):
        with pytest.raises(SchemaMismatch, match="not Bentham's"):
            attempt(place_of(None, tmp_path))
    assert (tmp_path / "bentham.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["bentham.db"]


def test_a_database_that_cannot_store_every_text_is_refused(postgres: PostgresServer) -> None:
    url = postgres.fresh("ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(SchemaMismatch, match="ENCODING 'UTF8'"):
        open_log(url)
    postgres.drop(url)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bentham.db").write_text("a shopping list, long enough to be read as a header" * 9)
    with pytest.raises(SchemaMismatch, match="is not a SQLite database"):
        open_log(None, tmp_path)


def test_files_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "data"
    log = open_log(None, folder)
    assert log.lead()
    log.append(records(1, 1))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert names == dict.fromkeys(["bentham.db", "bentham.db-shm", "bentham.db-wal", "lock"], 0o600)
    log.close()


def test_a_folder_that_cannot_be_created(tmp_path: Path, bentham: Bentham) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(
        bentham, "db", "upgrade", "--data", tmp_path / "file", contains=["check the permissions"]
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hidden@127.0.0.1:1/db",
        "postgres://127.0.0.1:1/db?user=me&password=hidden",
        "postgresql://me:hidden@127.0.0.1:no/db",
        "postgresql://me:hid/hidden@127.0.0.1/db",
        "postgresql://me:100%hidden@127.0.0.1/db",
        "postgresql://me:hidden@127.0.0.1/db?hidden=1",
        "mysql://me:hidden@127.0.0.1/db",
    ],
)
def test_no_message_shows_the_password(url: str, bentham: Bentham) -> None:
    with pytest.raises((StorageUnavailable, InvalidInput)) as refused:
        open_log(url)
    assert "hidden" not in str(refused.value)
    assert refused.value.__context__ is None or refused.value.__suppress_context__
    done = bentham("db", "check", "--database", url)
    assert done.code == 2
    assert "hidden" not in done.err


def test_an_old_sqlite_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    bentham: Bentham,
) -> None:  # fmt: skip
    open_log(None, tmp_path).close()
    assert caplog.text == ""
    monkeypatch.setattr(sqlite_file, "FIRST_FIXED", (99, 0, 0))
    open_log(None, tmp_path).close()
    assert "install pysqlite3" in caplog.text
    assert "install pysqlite3" in bentham("db", "check", "--data", tmp_path).err


def test_upgrade_returns_the_old_and_new_revision(tmp_path: Path) -> None:
    place = place_of(None, tmp_path)
    assert upgrade(place) == (None, "0002")
    assert upgrade(place) == ("0002", "0002")
