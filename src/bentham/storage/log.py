"""The event log: its records, and the interface of the stores.

The log is the single source of truth of the live service; all other state is a fold over it. An
append names the sequence numbers it expects, so that an instance that has lost the lead cannot
write, and an append whose outcome is unknown can be repeated.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from operator import attrgetter
from typing import Protocol

from bentham.errors import InvalidInput, SequenceConflict, StorageUnavailable

PAGE = 1000  # records fetched at a time by a read, which holds no transaction between pages
SNAPSHOTS = 2  # stored: the latest, and the one before in case the latest cannot be read
LARGEST = 2**63 - 1  # the largest integer that both databases can store

Row = tuple[int, float, str, int, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log, as stored."""

    sequence: int  # 1, 2, 3, ... without gaps
    time: float  # server time, seconds since 1970
    kind: str
    version: int  # format version of the body
    actor: str  # id of the token that made the request, or "server"
    request: str  # id of the request, "" if none
    tenant: str  # id of the tenant that it belongs to; "" for the operator
    key: str  # idempotency key, scoped and hashed by the caller; "" if none
    body: str  # JSON text


class EventLog(Protocol):
    """Append, read, snapshots and leadership. All methods are thread-safe."""

    def head(self) -> int:
        """Return the last sequence number, 0 if the log is empty."""

    def append(self, records: Sequence[Record]) -> None:
        """Write all or nothing, durable on return; needs `lead`. Safe to repeat when in doubt.

        Raises SequenceConflict unless the first record follows the head, or identical records are
        already in the log. After StorageUnavailable the outcome is unknown: repeat the call.
        """

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records after a sequence number, in order; blocks no reads or appends."""

    def save_snapshot(self, sequence: int, data: bytes) -> None:
        """Store a snapshot of the fold up to a sequence number; only the latest two are kept."""

    def load_snapshot(self, before: int | None = None) -> tuple[int, bytes] | None:
        """Return the latest snapshot, or the latest before the given sequence number."""

    def drop_snapshots(self) -> None:
        """Delete all snapshots; the log alone is sufficient."""

    def lead(self) -> bool:
        """Try to become the only instance that may append; True on success. Does not wait."""

    def leads(self) -> bool:
        """Whether this instance still leads, as far as is known without a query."""

    def close(self) -> None:
        """Give up the lead and close all connections; the log cannot be used again."""


FIELDS = tuple(field.name for field in fields(Record))
as_row: Callable[[Record], Row] = attrgetter(*FIELDS)


def check_records(records: Sequence[Record]) -> None:
    """Raise if one of the databases could not store the records, before anything is written."""
    expected = records[0].sequence if records else 0
    for record in records:
        if record.sequence != expected or not 0 < expected <= LARGEST:
            raise InvalidInput(
                f"a record has the sequence number {record.sequence} instead of "
                f"{max(expected, 1)}; number the records of an append 1, 2, 3, ... without gaps"
            )
        expected += 1
        if not isfinite(record.time):
            raise InvalidInput(f"the time of record {record.sequence} is not a finite number")
        if not 0 <= record.version <= LARGEST:
            raise InvalidInput(
                f"the version of record {record.sequence} is {record.version}; give 0 to {LARGEST}"
            )
        row = as_row(record)
        text = "".join((row[2], *row[4:]))
        if "\0" in text or not (text.isascii() or _is_unicode(text)):
            raise InvalidInput(
                f"record {record.sequence} ({record.kind!r}) contains a NUL or a lone surrogate, "
                "which cannot be stored; escape it (json.dumps does) or reject it"
            )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_snapshot(sequence: int, head: int) -> None:
    """Raise unless a snapshot covers only records that exist."""
    if not 0 <= sequence <= head:
        raise InvalidInput(f"a snapshot is at {sequence}, but the log ends at {head}")


def refuse_other_records(records: Sequence[Record], existing: Sequence[Row], head: int) -> None:
    """Check an append that does not follow the head: return if it is a repeat, else raise."""
    if list(existing) == [as_row(record) for record in records]:
        return
    raise SequenceConflict(
        f"cannot append record {records[0].sequence}: the log ends at {head}, so another instance "
        "has written; stop leading, read the log again and try to lead again"
    )


def not_leading() -> SequenceConflict:
    """Return the error of an append without the lead."""
    return SequenceConflict(
        "cannot append: this instance does not lead, another one may; call lead() and read the log"
    )


def closed() -> StorageUnavailable:
    """Return the error of a closed log."""
    return StorageUnavailable("the database is closed; open it again")


def read_pages(
    fetch: Callable[[int, int], list[Row]], after: int, limit: int | None
) -> Iterator[Record]:
    """Read page by page: a slow reader holds no transaction, so it blocks no one."""
    while limit is None or limit > 0:
        size = PAGE if limit is None else min(PAGE, limit)
        rows = fetch(after, size)
        for row in rows:
            yield Record(*row)
        if len(rows) < size:
            return
        after = rows[-1][0]
        limit = None if limit is None else limit - size
