"""Devices in virtual time: the loop behind simulation, what-if and the round-robin comparison.

Actions of one instant (jobs end, devices join or leave) run in the order in which they were
scheduled. Then idle devices get jobs, the lowest number first. The queue is ordered by (time,
sequence), so a run depends only on the work that drives it.
"""

import bisect
import heapq
import math
from collections.abc import Callable
from typing import Protocol, TypeVar

Job = TypeVar("Job")


class Work(Protocol[Job]):
    """The work of the devices: which job is next, and what happens when one ends."""

    def next_job(self, device: int, now: float) -> tuple[Job, float] | None:
        """Start a job on an idle device; return it and its end time, or None without a job."""

    def ended(self, device: int, job: Job, now: float) -> None:
        """Handle the end of a job. The device is idle again; call `leave` to retire it."""

    def instant(self, now: float) -> bool:
        """Handle the end of an instant, before idle devices get jobs; False ends the run."""


class VirtualPool:
    """Devices, numbered from 0, that run one job at a time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._idle: list[int] = []  # ascending
        self._busy: set[int] = set()
        self._leaving: set[int] = set()

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Schedule an action at a time."""
        heapq.heappush(self._queue, (time, self._sequence, action))
        self._sequence += 1

    def join(self, device: int) -> None:
        """Add an idle device."""
        bisect.insort(self._idle, device)

    def leave(self, device: int) -> None:
        """Remove a device; a running job ends first."""
        if device in self._busy:
            self._leaving.add(device)
        elif device in self._idle:
            self._idle.remove(device)

    def start(self, work: Work[Job], device: int, job: Job, end: float) -> None:
        """Run a job on a device that is not idle, until a time."""
        self._busy.add(device)
        self.at(end, lambda: self._end(work, device, job))

    def run(self, work: Work[Job], until: float = math.inf) -> None:
        """Run until nothing is scheduled, until the given time, or until the work ends the run.

        No job starts at `until` or later.
        """
        self._fill(work, until)
        while self._queue and self._queue[0][0] <= until:
            self.now = self._queue[0][0]
            while self._queue and self._queue[0][0] == self.now:
                heapq.heappop(self._queue)[2]()
            if not work.instant(self.now):
                return
            self._fill(work, until)

    def _fill(self, work: Work[Job], until: float) -> None:
        while self._idle and self.now < until:
            started = work.next_job(self._idle[0], self.now)
            if started is None:
                return
            self.start(work, self._idle.pop(0), *started)

    def _end(self, work: Work[Job], device: int, job: Job) -> None:
        self._busy.remove(device)
        if device in self._leaving:
            self._leaving.remove(device)
        else:
            self.join(device)
        work.ended(device, job, self.now)
