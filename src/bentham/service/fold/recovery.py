"""Recovers the pool from the log: the latest readable snapshot, then the events after it."""

from collections.abc import Callable

import structlog

from bentham.errors import InvalidSnapshot
from bentham.service.fold.events import decode
from bentham.service.fold.pool import Pool
from bentham.service.fold.snapshots import dump, load
from bentham.service.fold.table import apply
from bentham.storage import EventLog

logger = structlog.get_logger("bentham.recovery")
Progress = Callable[[int, int], None]


def recover(
    log: EventLog,
    progress: Progress | None = None,
    snapshots: bool = True,
    known: Pool | None = None,
    loaded: Callable[[int], None] | None = None,
    until: int | None = None,
) -> Pool:
    """Return the pool of the log, or as it was after event `until`.

    `progress` is called with the number of events applied and the total number. `known` is an
    earlier result: only the events since then are read, into the same pool. `loaded` is called with
    the number of events in the snapshot, if one was loaded.
    """
    if known is None and snapshots:
        known = _from_snapshot(log, until)
        if known is not None and loaded is not None:
            loaded(known.sequence)
    pool = Pool() if known is None else known
    head = log.head()
    left = None if until is None else until - pool.sequence
    for record in log.read(after=pool.sequence, limit=left):
        event = decode(record.kind, record.version, record.body)
        apply(pool, record.sequence, record.time, event, record.actor, record.key)
        if progress is not None and record.sequence % 1000 == 0:
            progress(record.sequence, head)
    return pool


def _from_snapshot(log: EventLog, until: int | None) -> Pool | None:
    """Load the latest usable snapshot; others are skipped, since the log alone is enough."""
    found = log.load_snapshot(before=None if until is None else until + 1)
    while found is not None:
        sequence, data = found
        try:
            pool = load(data)
        except InvalidSnapshot as error:
            logger.warning("a snapshot was not used", sequence=sequence, reason=str(error))
            pool = None
        if isinstance(pool, Pool) and pool.sequence == sequence:
            return pool
        found = log.load_snapshot(before=sequence)
    return None


def save_snapshot(log: EventLog, pool: Pool) -> int:
    """Save a snapshot of the pool; return its size in bytes."""
    data = dump(pool)
    log.save_snapshot(pool.sequence, data)
    return len(data)
