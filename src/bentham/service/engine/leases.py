"""Who holds a lease until when, and which devices were heard of: kept in memory only.

Renewals are not worth a line in the log: a server that starts gives everybody a whole lease. The
times here are of a clock that never jumps.
"""

import heapq
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a lease holds, how often it is renewed, how long a silent device is kept."""

    lease_seconds: float = 30.0
    heartbeat_seconds: float = 10.0
    device_seconds: float = 3600.0


class Leases:
    """Deadlines of trials and signs of life of devices."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self._deadlines: dict[str, float] = {}
        self._queue: list[tuple[float, str]] = []  # deadlines, some of them renewed since
        self._seen: dict[str, tuple[float, float]] = {}  # of devices: instant, time of day
        self._progress: dict[str, tuple[float | None, tuple[float, ...]]] = {}

    def grant(self, trial: str, instant: float) -> None:
        """A trial has a whole lease from now on."""
        fresh = trial not in self._deadlines
        self._deadlines[trial] = instant + self.terms.lease_seconds
        if fresh:
            heapq.heappush(self._queue, (self._deadlines[trial], trial))

    def end(self, trial: str) -> None:
        """A trial needs no lease any more."""
        self._deadlines.pop(trial, None)
        self._progress.pop(trial, None)

    def tell(self, trial: str, progress: float | None, scores: tuple[float, ...]) -> None:
        """A trial that runs is so far, and scored so much on the way."""
        self._progress[trial] = progress, scores

    def progress(self, trial: str) -> tuple[float | None, tuple[float, ...]]:
        """How far a trial that runs is, as far as it said."""
        return self._progress.get(trial, (None, ()))

    def expired(self, instant: float) -> list[str]:
        """The trials whose leases have run out, in the order in which they did."""
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
        """A device gave a sign of life."""
        self._seen.pop(device, None)  # so that the longest silent is in front
        self._seen[device] = instant, now

    def seen(self, device: str) -> float | None:
        """When a device was heard of, None if not since the server started."""
        seen = self._seen.get(device)
        return None if seen is None else seen[1]

    def gone(self, device: str) -> None:
        """A device left."""
        self._seen.pop(device, None)

    def vanished(self, instant: float) -> list[str]:
        """Devices that were not heard of for too long."""
        found = []
        for device, (seen, _) in self._seen.items():
            if seen + self.terms.device_seconds > instant:
                break
            found.append(device)
        return found
