"""Keeps the replay under round robin up to date while clients request it.

A thread computes it. The interpreter runs one thread at a time, so this one pauses about every
millisecond, and computes for at most a fiftieth of the time.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice

import structlog

from bentham.service.engine.leases import Leases
from bentham.service.fold.pool import Pool
from bentham.service.views.round_robin import EARLIER_TRIALS, MOST_TRIALS, Replay, replayed

logger = structlog.get_logger("bentham.replays")
# The minimum time between two replays: in seconds, and as a multiple of the time of the last one.
INTERVAL_SECONDS, INTERVAL_FACTOR = 2.0, 50.0
PAUSE_SECONDS = 0.0005


class Replays:
    """The latest replay of a pool."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "bentham-replay")
        self._pool: Pool | None = None
        self._sequence = -1
        self._next = 0.0
        self._work: Future[None] | None = None
        self._kept: Replay | None = None

    def of(self, pool: Pool) -> Replay | None:
        """Return the latest replay; None if there is none yet, or no trial has ended."""
        return self._kept if pool is self._pool else None

    def renew(self, pool: Pool, leases: Leases, now: float) -> Future[None] | None:
        """Start another replay if one is due; return what to wait for if there is none yet.

        Takes half a millisecond on the caller's thread.
        """
        if pool is not self._pool:
            self._pool, self._sequence, self._next, self._kept = pool, -1, 0.0, None
        busy = self._work is not None and not self._work.done()
        if not busy and self._clock() >= self._next and pool.sequence != self._sequence:
            self._sequence = pool.sequence
            latest = list(islice(reversed(pool.trials.values()), MOST_TRIALS + EARLIER_TRIALS))
            trials, before = latest[MOST_TRIALS - 1 :: -1], latest[MOST_TRIALS:]
            devices = {name: leases.away_since(name) or now for name in pool.devices}
            work = partial(replayed, trials, devices, before, _pause)
            self._work = self._thread.submit(self._compute, pool, work)
        return self._work if self._kept is None else None

    def close(self) -> None:
        """Stop the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _compute(self, pool: Pool, work: Callable[[], Replay | None]) -> None:
        began = self._clock()
        try:
            found = work()
            if pool is self._pool:
                self._kept = found
        except Exception:
            logger.exception("internal error in a replay, which is skipped")
        now = self._clock()
        self._next = now + max(INTERVAL_SECONDS, INTERVAL_FACTOR * (now - began))


def _pause() -> None:
    time.sleep(PAUSE_SECONDS)
