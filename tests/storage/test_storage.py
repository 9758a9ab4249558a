"""The contract of every log: in memory, in SQLite and in PostgreSQL."""

import math
from dataclasses import replace
from itertools import islice
from threading import Thread

import pytest
from support.storage_contract import Store, every_kind, record, records

from bentham.errors import InvalidInput, SequenceConflict, StorageUnavailable

pytestmark = every_kind


def test_a_new_log_is_empty(store: Store) -> None:
    log = store.open()
    assert log.head() == 0
    assert list(log.read()) == []
    assert log.load_snapshot() is None
    assert not log.leads()


def test_all_instances_read_what_was_appended(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 1))
    log.append(records(2, 5))
    log.append([])
    for instance in (log, store.open()):
        assert instance.head() == 5
        assert list(instance.read()) == records(1, 5)
        assert list(instance.read(after=2)) == records(3, 5)
        assert list(instance.read(after=1, limit=2)) == records(2, 3)
        assert list(instance.read(limit=0)) == []
        assert list(instance.read(after=5)) == []


def test_texts_and_numbers_are_stored_exactly(store: Store) -> None:
    log = store.leader()
    odd = [
        record(
            1, kind="naïve 模型 🦉", actor="a'b\"c\\", request="\n\t%s {} ?", tenant="", body="{}"
        ),
        record(2, time=math.pi * 1e9, version=2**40, key="k" * 1000, body='"\\u0000\\ud800"'),
        record(3, time=math.nextafter(1.7e9, 2e9), body='"' + "x" * 300_000 + '"'),
        record(4, time=0.0, version=0, kind="", actor="", body=""),
        record(5, time=5e-324, body="\x01\x7f\x85\u2028\uffff"),
    ]
    log.append(odd)
    assert list(log.read()) == odd
    log.append(odd)  # the same records again


@pytest.mark.parametrize(
    "bad",
    [
        *[{field: "a\0b"} for field in ("kind", "actor", "request", "tenant", "key", "body")],
        {"actor": "\ud800"},
        {"time": math.nan},
        {"time": math.inf},
        {"version": 2**63},
        {"version": -1},
    ],
    ids=str,
)
def test_values_that_a_database_cannot_store_are_refused(
    store: Store, bad: dict[str, object]
) -> None:
    log = store.leader()
    with pytest.raises(InvalidInput, match="record 2"):
        log.append([record(1), record(2, **bad)])
    assert log.head() == 0


def test_sequence_numbers_have_no_gaps(store: Store) -> None:
    log = store.leader()
    for batch in ([record(1), record(3)], [record(1), record(1)], [record(0)], [record(-1)]):
        with pytest.raises(InvalidInput, match="without gaps"):
            log.append(batch)
    with pytest.raises(SequenceConflict, match="ends at 0"):
        log.append([record(2)])
    log.append(records(1, 3))
    with pytest.raises(SequenceConflict, match="ends at 3"):
        log.append(records(5, 6))
    assert list(log.read()) == records(1, 3)


def test_an_append_may_be_repeated(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 2))
    log.append(records(3, 5))
    log.append(records(3, 5))
    log.append(records(1, 1))
    assert list(log.read()) == records(1, 5)


@pytest.mark.parametrize(
    "change",
    [{"time": 1.0}, {"kind": "x"}, {"version": 2}, {"actor": "x"}, {"request": "x"},
     {"tenant": "x"}, {"key": "x"}, {"body": "{}"}],
    ids=str,
)  # fmt: skip
def test_a_different_record_with_the_same_number_is_a_conflict(
    store: Store, change: dict[str, object]
) -> None:
    log = store.leader()
    log.append(records(1, 3))
    with pytest.raises(SequenceConflict, match="another instance has written"):
        log.append([record(2), replace(record(3), **change)])  # type: ignore[arg-type]
    assert list(log.read()) == records(1, 3)


def test_an_append_that_overlaps_the_head_is_a_conflict(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 3))
    with pytest.raises(SequenceConflict):
        log.append(records(3, 4))
    assert log.head() == 3


def test_only_one_instance_leads(store: Store) -> None:
    first, second = store.open(), store.open()
    with pytest.raises(SequenceConflict, match="does not lead"):
        first.append(records(1, 1))
    assert first.lead()
    assert first.lead()  # still
    assert first.leads()
    assert not second.lead()
    assert not second.leads()
    with pytest.raises(SequenceConflict, match="does not lead"):
        second.append(records(1, 1))
    first.append(records(1, 1))
    first.close()
    assert not first.leads()
    assert second.lead()
    second.append(records(2, 2))
    assert list(second.read()) == records(1, 2)


def test_a_closed_log_raises_errors(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 1))
    pages = log.read()
    log.close()
    log.close()
    for call in (log.head, log.lead, log.load_snapshot, log.drop_snapshots, lambda: next(pages)):
        with pytest.raises(StorageUnavailable, match="closed"):
            call()
    with pytest.raises(StorageUnavailable, match="closed"):
        log.append(records(2, 2))
    with pytest.raises(StorageUnavailable, match="closed"):
        log.save_snapshot(1, b"")


def test_reading_while_another_instance_appends(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 1500))
    other = store.open()
    reading = other.read()
    seen = list(islice(reading, 10))

    def append() -> None:
        for first in range(1501, 3501, 100):
            log.append(records(first, first + 99))

    writer = Thread(target=append)
    writer.start()
    while writer.is_alive():
        assert log.leads()
        assert list(log.read(limit=3)) == records(1, 3)
        found = [each.sequence for each in log.read(after=1000)]
        assert found == list(range(1001, 1001 + len(found)))
    writer.join()
    seen += reading
    assert seen == records(1, 3500)


@pytest.mark.slow
def test_many_records_stream(store: Store) -> None:
    log = store.leader()
    for first in range(1, 100_000, 5000):
        log.append(records(first, first + 4999))
    count = 0
    for count, found in enumerate(log.read(), 1):
        assert found.sequence == count
    assert count == 100_000 == log.head()
    assert sum(1 for _ in log.read(after=98_500, limit=1200)) == 1200


def test_the_latest_two_snapshots_are_kept(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 9))
    large = bytes(range(256)) * 40_000
    for sequence, data in ((2, b"two"), (5, large), (9, b"")):
        log.save_snapshot(sequence, data)
        assert log.load_snapshot() == (sequence, data)
    assert store.open().load_snapshot(before=9) == (5, large)
    assert log.load_snapshot(before=5) is None
    log.save_snapshot(9, b"nine")
    assert log.load_snapshot() == (9, b"nine")
    assert log.load_snapshot(before=9) == (5, large)
    log.drop_snapshots()
    assert log.load_snapshot() is None
    assert log.head() == 9
    log.save_snapshot(0, b"nothing yet")
    assert log.load_snapshot() == (0, b"nothing yet")


def test_a_snapshot_needs_existing_records(store: Store) -> None:
    log = store.leader()
    log.append(records(1, 2))
    for sequence in (3, -1):
        with pytest.raises(InvalidInput, match="ends at 2"):
            log.save_snapshot(sequence, b"")
    assert log.load_snapshot() is None
