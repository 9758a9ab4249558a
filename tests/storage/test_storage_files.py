"""The contract of files in memory, SQLite and PostgreSQL, and their state after outages."""

import random
import sqlite3
from collections.abc import Iterator
from threading import Event, Thread

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.postgres import PostgresServer
from support.storage_contract import Store, every_database, every_kind, records

from bentham.errors import InvalidInput, StorageUnavailable
from bentham.storage import Files
from bentham.storage import files as files_module
from bentham.storage.files import PART, in_parts


def some_bytes(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def content(files: Files, key: str) -> bytes | None:
    parts = files.load(key)
    return None if parts is None else b"".join(parts)


def stored_parts(store: Store) -> int:
    query = "SELECT count(*) FROM file_parts"
    if store.url is not None:
        with psycopg.connect(store.url) as session:
            rows = session.execute(query.encode()).fetchall()
    else:
        connection = sqlite3.connect(store.folder / "bentham.db")
        rows = connection.execute(query).fetchall()
        connection.close()
    return int(rows[0][0])


@every_kind
@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 17])
def test_all_instances_load_what_was_saved(store: Store, size: int) -> None:
    data, files = some_bytes(size), store.files()
    assert files.size("key") is None
    assert files.load("key") is None
    files.save("key", [data[:100], b"", data[100:]])
    for instance in (files, store.files()):
        assert instance.size("key") == size
        assert content(instance, "key") == data
        assert instance.load("other") is None


@every_kind
def test_an_existing_file_is_not_changed(store: Store) -> None:
    files = store.files()
    files.save("key", [b"data"])
    unread = iter([b"other"])
    files.save("key", unread)
    assert next(unread) == b"other"
    assert content(files, "key") == b"data"


@every_kind
def test_files_are_dropped(store: Store) -> None:
    files = store.files()
    files.save("one", [some_bytes(40 * PART)])
    files.save("two", [b"2"])
    files.drop("one")
    files.drop("one")
    files.drop("never there")
    assert files.load("one") is None
    assert content(store.files(), "two") == b"2"
    if store.kind != "memory":
        assert stored_parts(store) == 1
    files.save("one", [b"again"])
    assert content(files, "one") == b"again"


@every_kind
@pytest.mark.parametrize("key", ["", "k" * 201, "naïve", "a\0b", "a\nb", "\ud800"])
def test_keys_that_cannot_be_stored_are_refused(store: Store, key: str) -> None:
    files = store.files()
    with pytest.raises(InvalidInput, match="printable ASCII"):
        files.save(key, [b"data"])
    with pytest.raises(InvalidInput, match="printable ASCII"):
        files.load(key)
    with pytest.raises(InvalidInput, match="printable ASCII"):
        files.drop(key)


@every_kind
def test_unusual_keys(store: Store) -> None:
    files = store.files()
    keys = ["k" * 200, "%s", "?", "a'b\"c\\", "../../etc/passwd", "sha256:0", "A", "a", " "]
    for key in keys:
        files.save(key, [key.encode()])
    assert [content(files, key) for key in keys] == [key.encode() for key in keys]


@every_kind
def test_a_save_whose_content_fails_leaves_nothing(store: Store) -> None:
    def interrupted() -> Iterator[bytes]:
        yield some_bytes(2 * PART)
        raise OSError("the upload was cut")

    files = store.files()
    with pytest.raises(OSError, match="was cut"):
        files.save("key", interrupted())
    assert files.size("key") is None
    if store.kind != "memory":
        assert stored_parts(store) == 0


def leave_parts(store: Store, key: str, *parts: bytes) -> None:
    """Store parts without completing the file, like a save that was killed."""
    files = store.files()
    assert isinstance(files, files_module.DatabaseFiles)
    for part, data in enumerate(parts):
        files._session.write([(files_module.SAVE, (key, part, data))])


@every_database
def test_a_killed_save_is_invisible_and_replaced_by_the_next(store: Store) -> None:
    leave_parts(store, "key", b"other", some_bytes(PART), b"content")
    leave_parts(store, "empty", b"other")
    files = store.files()
    assert files.size("key") is None
    data = some_bytes(PART + 5, seed=1)
    files.save("key", [data])
    files.save("empty", [])
    assert content(files, "key") == data
    assert content(files, "empty") == b""
    assert stored_parts(store) == 2


@every_database
def test_tidy_deletes_parts_of_killed_saves(store: Store) -> None:
    files = store.files()
    files.save("kept", [b"data"])
    leave_parts(store, "key", *[b"part"] * 50)
    files.tidy()
    assert stored_parts(store) == 1
    assert content(files, "kept") == b"data"


@every_kind
def test_the_same_file_can_be_saved_concurrently(store: Store) -> None:
    data = some_bytes(5 * PART + 3)
    failed: list[Exception] = []

    def save(piece: int) -> None:
        try:
            pieces = (data[start : start + piece] for start in range(0, len(data), piece))
            store.files().save("key", pieces)
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=save, args=(piece,)) for piece in (70_000, 100_001, len(data))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert content(store.files(), "key") == data


@every_database
def test_a_drop_during_a_save_leaves_no_partial_file(store: Store) -> None:
    dropping = store.files()

    def content_of_a_slow_upload() -> Iterator[bytes]:
        yield some_bytes(3 * PART)
        dropping.drop("key")
        yield some_bytes(PART)

    files = store.files()
    with pytest.raises(StorageUnavailable, match="save it again"):
        files.save("key", content_of_a_slow_upload())
    assert files.load("key") is None
    files.save("key", [b"data"])
    assert content(files, "key") == b"data"


@every_database
def test_a_drop_during_a_load_raises_an_error(store: Store) -> None:
    files = store.files()
    files.save("key", [some_bytes(3 * PART)])
    parts = files.load("key")
    assert parts is not None
    assert next(parts) == some_bytes(3 * PART)[:PART]
    store.files().drop("key")
    with pytest.raises(StorageUnavailable, match="upload the data again"):
        next(parts)


@every_kind
def test_closed_files_raise_errors(store: Store) -> None:
    files = store.files()
    files.save("key", [b"data"])
    files.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        files.size("key")
    with pytest.raises(StorageUnavailable, match="closed"):
        files.save("other", [b"data"])


def test_reconnecting_after_an_outage(
    postgres: PostgresServer, postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = Store("postgresql", postgres_url, tmp_path_factory.mktemp("unused"))
    files = store.files()

    def upload_during_an_outage() -> Iterator[bytes]:
        yield some_bytes(PART)
        postgres.kill()
        yield some_bytes(PART)

    with pytest.raises(StorageUnavailable, match="check the server"):
        files.save("key", upload_during_an_outage())
    with pytest.raises(StorageUnavailable, match="check the server"):
        files.size("key")
    postgres.start()
    assert files.size("key") is None
    files.save("key", [some_bytes(2 * PART)])
    assert content(files, "key") == some_bytes(2 * PART)
    with psycopg.connect(postgres_url, autocommit=True) as admin:  # cut while it is idle
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'bentham files'"
        )
    assert content(files, "key") == some_bytes(2 * PART)
    store.close()


@every_database
def test_appends_continue_while_a_file_is_saved(store: Store) -> None:
    log, files = store.leader(), store.files()
    data = some_bytes(3 * PART)
    started, appended = Event(), Event()

    def slow_content() -> Iterator[bytes]:
        """Yield the second half only after the log was appended to."""
        yield data[: 2 * PART]
        started.set()
        assert appended.wait(30.0), "the save blocks the log"
        yield data[2 * PART :]

    thread = Thread(target=lambda: files.save("key", slow_content()))
    thread.start()
    assert started.wait(30.0)
    for sequence in range(1, 11):
        log.append(records(sequence, sequence))
    appended.set()
    thread.join()
    assert content(files, "key") == data


@every_kind
def test_keys_are_listed_by_prefix(store: Store) -> None:
    files = store.files()
    for key in ("data/a/1", "data/b/1", "log/1", "datb", "DATA/x", "data"):
        files.save(key, [b"x"])
    assert files.keys("data/") == ["data/a/1", "data/b/1"]
    assert files.keys("nothing") == []
    files.drop("data/a/1")
    assert files.keys("data/") == ["data/b/1"]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 9))
def test_all_parts_but_the_last_have_the_same_size(pieces: list[bytes], size: int) -> None:
    parts = list(in_parts(pieces, size))
    assert b"".join(parts) == b"".join(pieces)
    assert all(len(part) == size for part in parts[:-1])
    assert all(0 < len(part) <= size for part in parts)
