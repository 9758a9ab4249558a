"""A log in memory, for tests and simulations, with the same contract as the databases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

from bentham.storage.log import (
    SNAPSHOTS,
    Record,
    Row,
    as_row,
    check_records,
    check_snapshot,
    closed,
    not_leading,
    read_pages,
    refuse_other_records,
)


@dataclass(slots=True)
class MemoryDatabase:
    """The state that several instances share, as they would share a database."""

    rows: list[Row] = field(default_factory=list)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    leader: "MemoryLog | None" = None
    lock: Lock = field(default_factory=Lock)


class MemoryLog:
    """An EventLog in memory."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self._shared = MemoryDatabase() if database is None else database
        self._closed = False

    def head(self) -> int:
        """Return the last sequence number, 0 if the log is empty."""
        return len(self._open().rows)

    def append(self, records: Sequence[Record]) -> None:
        """Write all or nothing; see EventLog."""
        check_records(records)
        shared = self._open()
        with shared.lock:
            if shared.leader is not self:
                raise not_leading()
            if not records:
                return
            first = records[0].sequence
            if first == len(shared.rows) + 1:
                shared.rows += [as_row(record) for record in records]  # atomic for readers
            else:
                existing = shared.rows[first - 1 : first - 1 + len(records)]
                refuse_other_records(records, existing, len(shared.rows))

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records after a sequence number, in order."""
        return read_pages(self._fetch, after, limit)

    def _fetch(self, after: int, size: int) -> list[Row]:
        start = max(after, 0)
        return self._open().rows[start : start + size]

    def save_snapshot(self, sequence: int, data: bytes) -> None:
        """Store a snapshot of the fold up to a sequence number; only the latest two are kept."""
        shared = self._open()
        with shared.lock:
            check_snapshot(sequence, len(shared.rows))
            shared.snapshots[sequence] = bytes(data)
            for old in sorted(shared.snapshots)[:-SNAPSHOTS]:
                del shared.snapshots[old]

    def load_snapshot(self, before: int | None = None) -> tuple[int, bytes] | None:
        """Return the latest snapshot, or the latest before the given sequence number."""
        shared = self._open()
        with shared.lock:
            kept = [at for at in shared.snapshots if before is None or at < before]
            return (max(kept), shared.snapshots[max(kept)]) if kept else None

    def drop_snapshots(self) -> None:
        """Delete all snapshots."""
        shared = self._open()
        with shared.lock:
            shared.snapshots.clear()

    def lead(self) -> bool:
        """Try to become the only instance that may append."""
        shared = self._open()
        with shared.lock:
            if shared.leader is None:
                shared.leader = self
            return shared.leader is self

    def leads(self) -> bool:
        """Whether this instance still leads."""
        return not self._closed and self._shared.leader is self

    def close(self) -> None:
        """Give up the lead."""
        with self._shared.lock:
            self._closed = True
            if self._shared.leader is self:
                self._shared.leader = None

    def _open(self) -> MemoryDatabase:
        if self._closed:
            raise closed()
        return self._shared
