"""Replays past trials under round robin: the same trials and devices, with the studies in turn.

Every study runs its own trials in their original order, each with its original duration and score;
only the order among studies differs. A free device serves the next study after the one served last,
among those that exist already and have a trial left. A device is present from the start of its
first trial until the end of its last, or until now (its last sign of life, if it is away) if it is
still registered. The time that real devices take to request a trial is not counted, which slightly
favours round robin.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

from bentham.core.worlds.virtual_time import VirtualPool
from bentham.service.fold.entities import Study, Trial

# Only the latest trials are replayed; everything before them is taken as it was.
MOST_TRIALS = 20_000
# The number of trials before them to check: those still running then end as they did.
EARLIER_TRIALS = 1000
# The number of steps between two pauses, about a millisecond.
STEPS = 256

Improvements = list[tuple[float, float]]


class PastRun(NamedTuple):
    """A trial that ended; `study` is the position of its study in the order of turns."""

    study: int
    device: str
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Replay:
    """The improvements of each study under round robin.

    Until `since` everything is as it was. Studies without later scores are not listed.
    """

    improvements: dict[str, Improvements]
    since: float = -inf

    def of(self, study: Study) -> Improvements:
        """Return a study's improvements under round robin."""
        found = self.improvements.get(study.id)
        return _improvements_until(study, self.since) if found is None else found


def served_in_turn(
    runs: Sequence[PastRun],
    created: Sequence[float],
    present_until: Mapping[str, float],
    pause: Callable[[], None] = lambda: None,
) -> list[float]:
    """Return when each run would have ended, infinite if it would not have started.

    `runs` are ordered by their starts, `created` is when each study was created, and
    `present_until` is how long each device that has not left is present. Takes n log n steps;
    `pause` is called in between.
    """
    turns = _Turns(runs, created, pause)
    pool = VirtualPool()
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for run in runs:
        first.setdefault(run.device, run.started)
        last[run.device] = max(run.ended, last.get(run.device, -inf))
    for number, device in enumerate(first):
        pool.at(first[device], partial(pool.join, number))
        pool.at(present_until.get(device, last[device]), partial(pool.leave, number))
    for study, time in enumerate(created):
        pool.at(time, partial(turns.arrive, study))
    pool.run(turns)
    return turns.ends


class _Turns:
    """Serves the studies in turn."""

    def __init__(
        self, runs: Sequence[PastRun], created: Sequence[float], pause: Callable[[], None]
    ):
        self._runs, self._pause = runs, pause
        self._queues: list[deque[int]] = [deque() for _ in created]  # indexes of runs, by study
        for index, run in enumerate(runs):
            self._queues[run.study].append(index)
        self._ready: list[int] = []  # studies with something to run, ascending
        self._cursor = -1  # the study served last
        self._steps = 0
        self.ends = [inf] * len(runs)

    def arrive(self, study: int) -> None:
        """Add a study, from now on."""
        if self._queues[study]:
            insort(self._ready, study)

    def next_job(self, device: int, now: float) -> tuple[int, float] | None:  # noqa: ARG002
        """Return the next run of the next study in turn, and when it ends."""
        if not self._ready:
            return None
        self._cursor = self._ready[bisect_right(self._ready, self._cursor) % len(self._ready)]
        index = self._queues[self._cursor].popleft()
        if not self._queues[self._cursor]:
            self._ready.remove(self._cursor)
        self.ends[index] = now + (self._runs[index].ended - self._runs[index].started)
        self._steps += 1
        if self._steps % STEPS == 0:
            self._pause()
        return index, self.ends[index]

    def ended(self, device: int, job: int, now: float) -> None:
        """Do nothing."""

    def instant(self, now: float) -> bool:  # noqa: ARG002
        """Return True: the replay continues until nothing is left to run."""
        return True


def replayed(
    trials: Sequence[Trial],
    present_until: Mapping[str, float],
    before: Sequence[Trial] = (),
    pause: Callable[[], None] = lambda: None,
) -> Replay | None:
    """Return a replay of the latest trials, ordered by their starts; None if none of them ended.

    `before` are the latest trials before them: studies start with the scores that they had then,
    and the trials that were running then end as they did. May run in another thread than the
    service: the attributes that it reads do not change once a trial has ended.
    """
    done = [
        trial
        for trial in trials
        if trial.ended is not None and not (trial.state == "complete" and trial.score is None)
    ]
    if not done:
        return None
    studies = sorted(
        {trial.study.id: trial.study for trial in done}.values(),
        key=lambda study: (study.created, study.id),
    )
    numbers = {study.id: number for number, study in enumerate(studies)}
    pause()
    runs = [
        PastRun(numbers[trial.study.id], trial.device, trial.started, trial.ended or trial.started)
        for trial in done
    ]
    pause()
    ends = served_in_turn(runs, [study.created for study in studies], present_until, pause)
    since = done[0].started if before else -inf
    unchanged = [
        (trial, trial.ended)
        for trial in before
        if trial.score is not None and trial.ended is not None and trial.ended > since
    ]
    scores: dict[str, list[tuple[float, int, float]]] = {}
    served: dict[str, Study] = {}
    for step, (trial, end) in enumerate((*unchanged, *zip(done, ends, strict=True))):
        if trial.score is not None and end < inf:
            # A score counts for every study on the same data.
            for study in list(trial.study.shared.studies):
                if trial.model in study.models:
                    served[study.id] = study
                    arrival = max(end, study.created), trial.number, trial.score
                    scores.setdefault(study.id, []).append(arrival)
        if step % STEPS == 0:
            pause()
    by_study = {}
    for name, study in served.items():
        improvements = _improvements_until(study, since)
        best = improvements[-1][1] if improvements else -inf
        for time, _, score in sorted(scores[name]):
            if score > best:
                best = score
                improvements.append((time, score))
        by_study[name] = improvements
    return Replay(by_study, since)


def _improvements_until(study: Study, time: float) -> Improvements:
    return [pair for pair in list(study.improvements) if pair[0] <= time]
