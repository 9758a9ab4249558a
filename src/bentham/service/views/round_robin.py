"""What round robin would have reached: the same trials on the same devices, studies in turn.

Every study runs its own trials in the order in which it ran them, and each takes as long as it
took and brings what it brought; only whose turn it is differs. When a device is free, the next
study after the one served last that has something to run, and exists already, is served. Devices
are there from their first trial to their last, or until now if they still are; the moments that
real devices take to ask are not counted, which favours round robin a little.
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

# The latest so many trials are served again; before them, all is as it was.
MOST_TRIALS = 20_000
# Of those before them so many are looked at: what ran when the others began is as it was, too.
FURTHER = 1000
# So many steps are taken between two rests, in about a millisecond.
STRETCH = 256

Improvements = list[tuple[float, float]]


class Run(NamedTuple):
    """A trial that ended: whose it was (studies are numbered in turn), where, and how long."""

    study: int
    device: str
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Replay:
    """Every study's improvements as they would have been; studies that ran nothing have none.

    Until `since` all is as it was, also for studies that brought nothing later.
    """

    improvements: dict[str, Improvements]
    since: float = -inf

    def of(self, study: Study) -> Improvements:
        """A study's improvements, by turns."""
        found = self.improvements.get(study.id)
        return _until(study, self.since) if found is None else found


def served_in_turn(
    runs: Sequence[Run],
    created: Sequence[float],
    there: Mapping[str, float],
    rest: Callable[[], None] = lambda: None,
) -> list[float]:
    """When each run would have ended, infinite where it would not have started.

    `runs` are ordered by their starts, `created` is when each study was created, and `there` until
    when devices are present that have not left. Takes n log n steps; `rest` is called in between.
    """
    turns = _Turns(runs, created, rest)
    pool = VirtualPool()
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for run in runs:
        first.setdefault(run.device, run.started)
        last[run.device] = max(run.ended, last.get(run.device, -inf))
    for number, device in enumerate(first):
        pool.at(first[device], partial(pool.join, number))
        pool.at(there.get(device, last[device]), partial(pool.leave, number))
    for study, time in enumerate(created):
        pool.at(time, partial(turns.arrive, study))
    pool.run(turns)
    return turns.ends


class _Turns:
    """Runs of studies, served in turn."""

    def __init__(self, runs: Sequence[Run], created: Sequence[float], rest: Callable[[], None]):
        self._runs, self._rest = runs, rest
        self._queues: list[deque[int]] = [deque() for _ in created]
        for place, run in enumerate(runs):
            self._queues[run.study].append(place)
        self._ready: list[int] = []  # studies with something to run, ascending
        self._cursor = -1
        self._steps = 0
        self.ends = [inf] * len(runs)

    def arrive(self, study: int) -> None:
        """A study exists from now on."""
        if self._queues[study]:
            insort(self._ready, study)

    def next_job(self, device: int, now: float) -> tuple[int, float] | None:  # noqa: ARG002
        """The next run of the next study in turn."""
        if not self._ready:
            return None
        self._cursor = self._ready[bisect_right(self._ready, self._cursor) % len(self._ready)]
        place = self._queues[self._cursor].popleft()
        if not self._queues[self._cursor]:
            self._ready.remove(self._cursor)
        self.ends[place] = now + (self._runs[place].ended - self._runs[place].started)
        self._steps += 1
        if self._steps % STRETCH == 0:
            self._rest()
        return place, self.ends[place]

    def ended(self, device: int, job: int, now: float) -> None:
        """A run ended: nothing to do."""

    def instant(self, now: float) -> bool:  # noqa: ARG002
        """Go on until every study has run everything."""
        return True


def replayed(
    trials: Sequence[Trial],
    there: Mapping[str, float],
    before: Sequence[Trial] = (),
    rest: Callable[[], None] = lambda: None,
) -> Replay | None:
    """The latest trials, in the order of their starts, served in turn; None if none ended.

    `before` are the last of those that came before them: studies begin from what they had then,
    and what ran at that time ends as it did. May run beside the service: what it reads of trials
    and studies does not change once they ended.
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
    rest()
    runs = [
        Run(numbers[trial.study.id], trial.device, trial.started, trial.ended or trial.started)
        for trial in done
    ]
    rest()
    ends = served_in_turn(runs, [study.created for study in studies], there, rest)
    # Others over the same data have what a trial showed, too.
    since = done[0].started if before else -inf
    as_it_was = [
        (trial, trial.ended)
        for trial in before
        if trial.score is not None and trial.ended is not None and trial.ended > since
    ]
    scores: dict[str, list[tuple[float, int, float]]] = {}
    served: dict[str, Study] = {}
    for step, (trial, end) in enumerate((*as_it_was, *zip(done, ends, strict=True))):
        if trial.score is not None and end < inf:
            for study in list(trial.study.shared.studies):
                if trial.model in study.models:
                    served[study.id] = study
                    came = max(end, study.created), trial.number, trial.score
                    scores.setdefault(study.id, []).append(came)
        if step % STRETCH == 0:
            rest()
    found = {}
    for name, study in served.items():
        improvements = _until(study, since)
        best = improvements[-1][1] if improvements else -inf
        for time, _, score in sorted(scores[name]):
            if score > best:
                best = score
                improvements.append((time, score))
        found[name] = improvements
    return Replay(found, since)


def _until(study: Study, time: float) -> Improvements:
    return [pair for pair in list(study.improvements) if pair[0] <= time]
