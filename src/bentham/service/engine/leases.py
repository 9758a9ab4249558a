"""Leases and signs of life of devices, in memory only.

Renewals are not logged: a server that starts gives every running trial a full lease. Times here
are monotonic unless stated.
"""

import heapq
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """Lease duration, heartbeat interval, and how long a silent device stays registered."""

    lease_seconds: float = 30.0
    heartbeat_seconds: float = 10.0
    device_seconds: float = 3600.0


class Leases:
    """The deadlines of trials, and when each device was last seen."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self._deadlines: dict[str, float] = {}
        self._queue: list[tuple[float, str]] = []  # deadlines, some of them renewed since
        self._seen: dict[str, tuple[float, float]] = {}  # by device: instant, time of day
        self._progress: dict[str, tuple[float | None, tuple[float, ...]]] = {}

    def grant(self, trial: str, instant: float) -> None:
        """Give a trial a full lease from now on."""
        fresh = trial not in self._deadlines
        self._deadlines[trial] = instant + self.terms.lease_seconds
        if fresh:
            heapq.heappush(self._queue, (self._deadlines[trial], trial))

    def end(self, trial: str) -> None:
        """Discard the lease of a trial that has ended."""
        self._deadlines.pop(trial, None)
        self._progress.pop(trial, None)

    def record_progress(
        self, trial: str, progress: float | None, scores: tuple[float, ...]
    ) -> None:
        """Record the progress and the intermediate scores of a running trial."""
        self._progress[trial] = progress, scores

    def progress(self, trial: str) -> tuple[float | None, tuple[float, ...]]:
        """Return the reported progress and intermediate scores of a running trial."""
        return self._progress.get(trial, (None, ()))

    def expired(self, instant: float) -> list[str]:
        """Discard expired leases; return their trials in the order of expiry."""
        found = []
        while self._queue and self._queue[0][0] <= instant:
            _, trial = heapq.heappop(self._queue)
            deadline = self._deadlines.get(trial)
            if deadline is None:
                continue
            if deadline > instant:  # renewed since it was queued
                heapq.heappush(self._queue, (deadline, trial))
            else:
                del self._deadlines[trial]
                self._progress.pop(trial, None)
                found.append(trial)
        return found

    def saw(self, device: str, instant: float, now: float) -> None:
        """Record a sign of life of a device."""
        self._seen.pop(device, None)  # so that the longest silent device is first
        self._seen[device] = instant, now

    def seen(self, device: str) -> float | None:
        """Return the time of day a device was last seen; None if not since the server started."""
        seen = self._seen.get(device)
        return None if seen is None else seen[1]

    def forget(self, device: str) -> None:
        """Forget a device that left."""
        self._seen.pop(device, None)

    def silent(self, instant: float) -> list[str]:
        """Return the devices that have been silent for too long."""
        found = []
        for device, (seen, _) in self._seen.items():
            if seen + self.terms.device_seconds > instant:
                break
            found.append(device)
        return found
