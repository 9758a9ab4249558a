"""Devices in virtual time: the loop behind simulation, what-if and the round-robin comparison.

Everything that happens at one instant happens in the order in which it was scheduled: jobs end,
devices join or leave. Then idle devices get jobs, the lowest first. The queue is keyed by (time,
sequence), so a run depends only on the work that drives it.
"""

import bisect
import heapq
import math
from collections.abc import Callable
from typing import Protocol, TypeVar

Job = TypeVar("Job")


class Work(Protocol[Job]):
    """What devices do: which job comes next, and what happens when one ends."""

    def next_job(self, device: int, now: float) -> tuple[Job, float] | None:
        """Start a job on an idle device: the job and its end time. None if there is none now."""

    def ended(self, device: int, job: Job, now: float) -> None:
        """A job ended. The device is idle again; call `leave` here if it is not to be reused."""

    def instant(self, now: float) -> bool:
        """Everything of this instant happened, and idle devices are next. False ends the run."""


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
        """Schedule something that happens at a time."""
        heapq.heappush(self._queue, (time, self._sequence, action))
        self._sequence += 1

    def join(self, device: int) -> None:
        """A device is idle from now on."""
        bisect.insort(self._idle, device)

    def leave(self, device: int) -> None:
        """A device gets no more jobs. A running job ends first."""
        if device in self._busy:
            self._leaving.add(device)
        elif device in self._idle:
            self._idle.remove(device)

    def start(self, work: Work[Job], device: int, job: Job, end: float) -> None:
        """Let a device that is not idle run a job until a time."""
        self._busy.add(device)
        self.at(end, lambda: self._end(work, device, job))

    def run(self, work: Work[Job], until: float = math.inf) -> None:
        """Run until nothing is scheduled, until a time, or until the work ends the run.

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
            found = work.next_job(self._idle[0], self.now)
            if found is None:
                return
            self.start(work, self._idle.pop(0), *found)

    def _end(self, work: Work[Job], device: int, job: Job) -> None:
        self._busy.remove(device)
        if device in self._leaving:
            self._leaving.remove(device)
        else:
            self.join(device)
        work.ended(device, job, self.now)
