"""The log: what is stored, and the few verbs of whatever stores it.

The log is the truth of the live service; all else is a fold over it. An append names the sequence
numbers it expects, so that an instance which lost its lead cannot write, and an append whose
outcome is unknown can be repeated.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from operator import attrgetter
from typing import Protocol

from bentham.errors import InvalidInput, SequenceConflict, StorageUnavailable

PAGE = 1000  # records fetched at a time by a read, which holds no transaction between pages
SNAPSHOTS = 2  # kept: the latest, and the one before in case the latest cannot be read
LARGEST = 2**63 - 1  # what both databases can store as an integer

Row = tuple[int, float, str, int, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log, as stored."""

    sequence: int  # 1, 2, 3, ... without gaps
    time: float  # server time, seconds since 1970
    kind: str
    version: int  # of the kind's body
    actor: str  # id of the token that asked, or "server"
    request: str  # id of the request, "" if none
    tenant: str  # whose it is; "" the operator's
    key: str  # idempotency key, scoped and hashed by the caller; "" if none
    body: str  # JSON text


class EventLog(Protocol):
    """Append, read, snapshots and leadership. All methods may be called from any thread."""

    def head(self) -> int:
        """The last sequence number, 0 if the log is empty."""

    def append(self, records: Sequence[Record]) -> None:
        """Write all or nothing, durable on return; needs `lead`. Safe to repeat when in doubt.

        Raises SequenceConflict unless the first record follows the head, or all of them are in the
        log already, identical. After StorageUnavailable the outcome is unknown: repeat the call.
        """

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after a sequence number, in order; others may read and append meanwhile."""

    def save_snapshot(self, sequence: int, data: bytes) -> None:
        """Keep the fold up to a sequence number; the latest two are kept."""

    def load_snapshot(self, before: int | None = None) -> tuple[int, bytes] | None:
        """The latest snapshot, or the latest one of a sequence number before the given one."""

    def drop_snapshots(self) -> None:
        """Forget all snapshots: the log alone is enough."""

    def lead(self) -> bool:
        """Try to become the one instance that may append; True if this is it. Does not wait."""

    def leads(self) -> bool:
        """Whether this instance still leads, as far as can be seen without asking anybody."""

    def close(self) -> None:
        """Give up the lead and all connections; the log cannot be used any more."""


FIELDS = tuple(field.name for field in fields(Record))
as_row: Callable[[Record], Row] = attrgetter(*FIELDS)


def check_records(records: Sequence[Record]) -> None:
    """Refuse what one of the databases could not store, before anything is written."""
    expected = records[0].sequence if records else 0
    for record in records:
        if record.sequence != expected or not 0 < expected <= LARGEST:
            raise InvalidInput(
                f"a record has the sequence number {record.sequence} where {max(expected, 1)} "
                "belongs; number the records of an append 1, 2, 3, ... without gaps"
            )
        expected += 1
        if not isfinite(record.time):
            raise InvalidInput(f"the time of record {record.sequence} is not a finite number")
        if not 0 <= record.version <= LARGEST:
            raise InvalidInput(f"the version of record {record.sequence} is {record.version}")
        row = as_row(record)
        text = "".join((row[2], *row[4:]))
        if "\0" in text or not (text.isascii() or _is_unicode(text)):
            raise InvalidInput(
                f"record {record.sequence} ({record.kind!r}) has a NUL or half a surrogate pair in "
                "a text, which no database stores; escape it (json.dumps does) or refuse it"
            )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_snapshot(sequence: int, head: int) -> None:
    """A snapshot is the fold over records that exist."""
    if not 0 <= sequence <= head:
        raise InvalidInput(f"a snapshot at {sequence} of a log that ends at {head}")


def settle(records: Sequence[Record], existing: Sequence[Row], head: int) -> None:
    """Judge an append that does not follow the head: repeated (return), or in conflict (raise)."""
    if list(existing) == [as_row(record) for record in records]:
        return
    raise SequenceConflict(
        f"cannot append record {records[0].sequence}: the log ends at {head}, so another instance "
        "has written; stop leading, read the log again and try to lead again"
    )


def not_leading() -> SequenceConflict:
    """What an append without the lead raises."""
    return SequenceConflict(
        "cannot append: this instance does not lead; another one may, call lead() and read the log"
    )


def closed() -> StorageUnavailable:
    """What a closed log raises."""
    return StorageUnavailable("the database is closed; open it again")


def read_pages(
    fetch: Callable[[int, int], list[Row]], after: int, limit: int | None
) -> Iterator[Record]:
    """Read page by page: a slow reader holds no transaction, so it holds up nobody."""
    while limit is None or limit > 0:
        size = PAGE if limit is None else min(PAGE, limit)
        rows = fetch(after, size)
        for row in rows:
            yield Record(*row)
        if len(rows) < size:
            return
        after = rows[-1][0]
        limit = None if limit is None else limit - size
