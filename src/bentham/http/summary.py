"""One line of the log about the requests of each minute."""

import asyncio
import re
from collections import Counter

import structlog

logger = structlog.get_logger("bentham.http")
SECONDS = 60.0
MOST_TIMES = 20_000
# Requests that wait on purpose: they count, but their times say nothing about the server.
_WAITING = re.compile(r"/lease$|^/v1/events$")


class RequestSummary:
    """Counts requests; percentiles are of at most the first 20,000 of a minute."""

    def __init__(self) -> None:
        self._requests = self._refused = 0
        self._failed: Counter[int] = Counter()  # by status
        self._times: list[float] = []

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests += 1
        self._refused += 400 <= status < 500
        if status >= 500:
            self._failed[status] += 1
        if len(self._times) < MOST_TIMES and not _WAITING.search(path):
            self._times.append(seconds)

    def write(self) -> None:
        """Write a line about the requests since the last one, if there were any."""
        if not self._requests:
            return
        times = sorted(self._times) or [0.0]
        p50, p99 = (times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
        kinds = sorted(self._failed.items())
        statuses = ", ".join(f"{count:,} with {status}" for status, count in kinds)
        logger.info(
            "requests",
            count=self._requests,
            refused=self._refused,
            errors=self._failed.total(),
            **({"statuses": statuses} if statuses else {}),
            p50_milliseconds=round(1e3 * p50, 2),
            p99_milliseconds=round(1e3 * p99, 2),
        )
        self._requests = self._refused = 0
        self._failed.clear()
        self._times = []

    async def write_regularly(self) -> None:
        """Write a line every minute, and a last one when this is cancelled."""
        try:
            while True:
                await asyncio.sleep(SECONDS)
                self.write()
        finally:
            self.write()
