"""Keeps what round robin would have reached, for as long as somebody looks at it.

It is computed beside the service, by a thread that rests every millisecond or so, since it and the
service take turns. Computing takes a fiftieth of the time at most.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice

import structlog

from bentham.service.fold.pool import Pool
from bentham.service.views.round_robin import FURTHER, MOST_TRIALS, Replay, replayed

logger = structlog.get_logger("bentham.replays")
SELDOM, SHARE = 2.0, 50.0
REST_SECONDS = 0.0005


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
        """What is known by now; None where nothing ran."""
        return self._kept if pool is self._pool else None

    def renew(self, pool: Pool, now: float) -> Future[None] | None:
        """Begin to compute it anew if it is time to; what to wait for where there is none yet.

        Takes half a millisecond on the caller's thread.
        """
        if pool is not self._pool:
            self._pool, self._sequence, self._next, self._kept = pool, -1, 0.0, None
        busy = self._work is not None and not self._work.done()
        if not busy and self._clock() >= self._next and pool.sequence != self._sequence:
            self._sequence = pool.sequence
            latest = list(islice(reversed(pool.trials.values()), MOST_TRIALS + FURTHER))
            trials, before = latest[MOST_TRIALS - 1 :: -1], latest[MOST_TRIALS:]
            work = partial(replayed, trials, dict.fromkeys(pool.devices, now), before, _rest)
            self._work = self._thread.submit(self._compute, pool, work)
        return self._work if self._kept is None else None

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _compute(self, pool: Pool, work: Callable[[], Replay | None]) -> None:
        began = self._clock()
        try:
            found = work()
            if pool is self._pool:
                self._kept = found
        except Exception:
            logger.exception("an error in a replay; there is none for now")
        now = self._clock()
        self._next = now + max(SELDOM, SHARE * (now - began))


def _rest() -> None:
    time.sleep(REST_SECONDS)
