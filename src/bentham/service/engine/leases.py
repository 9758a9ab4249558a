"""Leases and signs of life of devices, in memory only.

Renewals are not logged: a server that starts gives every running trial a full lease, and counts
every device as seen now. Times here are monotonic unless stated.

A device is present, or away once it has been silent for `Terms.away_seconds`; its next sign of life
makes it present again. A device that stays silent for `Terms.device_seconds` leaves.
"""

import heapq
from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True, slots=True)
class Terms:
    """Lease duration, heartbeat interval, and after which silence a device is away or leaves.

    `away_seconds` is at least `lease_seconds`, so that a device that is away runs nothing.
    """

    lease_seconds: float = 30.0
    heartbeat_seconds: float = 10.0
    away_seconds: float = 60.0
    device_seconds: float = 3600.0


class Leases:
    """The deadlines of trials, and when each device was last seen."""

    def __init__(self, terms: Terms):
        self.terms = terms
        self._deadlines: dict[str, float] = {}
        self._queue: list[tuple[float, str]] = []  # deadlines, some of them renewed since
        # When each device was last seen: instant, time of day. The longest silent is first.
        self._present: dict[str, tuple[float, float]] = {}
        self._away: dict[str, tuple[float, float]] = {}
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

    @property
    def present(self) -> int:
        """The number of devices that are present."""
        return len(self._present)

    @property
    def away(self) -> Collection[str]:
        """The devices that are away, the longest silent first."""
        return self._away.keys()

    def saw(self, device: str, instant: float, now: float) -> bool:
        """Record a sign of life of a device; return whether it was away."""
        self._present.pop(device, None)  # so that the longest silent device is first
        self._present[device] = instant, now
        return self._away.pop(device, None) is not None

    def seen(self, device: str) -> float | None:
        """Return the time of day a device was last seen; None if not since the server started."""
        seen = self._present.get(device) or self._away.get(device)
        return None if seen is None else seen[1]

    def away_since(self, device: str) -> float | None:
        """Return the time of day of the last sign of life of a device that is away."""
        seen = self._away.get(device)
        return None if seen is None else seen[1]

    def forget(self, device: str) -> None:
        """Forget a device that left."""
        self._present.pop(device, None)
        self._away.pop(device, None)

    def now_away(self, instant: float) -> list[str]:
        """Return the devices that are away from now on."""
        found = _silent(self._present, instant - self.terms.away_seconds)
        for device in found:
            self._away[device] = self._present.pop(device)
        return found

    def silent(self, instant: float) -> list[str]:
        """Return the devices that have been away for too long."""
        return _silent(self._away, instant - self.terms.device_seconds)


def _silent(seen: dict[str, tuple[float, float]], since: float) -> list[str]:
    return [device for device, _ in takewhile(lambda entry: entry[1][0] <= since, seen.items())]
