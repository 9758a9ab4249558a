"""What round robin would have reached: the same trials on the same devices, studies in turn.

Every study runs its own trials in the order in which it ran them, and each takes as long as it
took and brings what it brought; only whose turn it is differs. When a device is free, the next
study after the one served last that has something to run, and exists already, is served. Devices
are there from their first trial to their last, or until now if they still are; the moments that
real devices take to ask are not counted, which favours round robin a little.
"""

import heapq
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

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
    """When each run would have ended, infinity where it would not have begun.

    `runs` stand in the order of their starts, `created` says when each study came, and `there`
    until when the devices are that have not left. Takes n log n steps; `rest` is called between.
    """
    queues: list[deque[int]] = [deque() for _ in created]
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    for place, run in enumerate(runs):
        queues[run.study].append(place)
        first.setdefault(run.device, run.started)
        last[run.device] = max(run.ended, last.get(run.device, -inf))
    devices = list(first)
    free = [(first[device], number) for number, device in enumerate(devices)]
    heapq.heapify(free)
    coming = deque(sorted((time, study) for study, time in enumerate(created) if queues[study]))
    ready: list[int] = []
    ends = [inf] * len(runs)
    cursor = -1
    steps = 0
    while free and (ready or coming):
        time, number = heapq.heappop(free)
        while coming and coming[0][0] <= time:
            insort(ready, coming.popleft()[1])
        if time >= there.get(devices[number], last[devices[number]]):
            continue  # it has left
        if not ready:
            heapq.heappush(free, (coming[0][0], number))
            continue
        cursor = ready[bisect_right(ready, cursor) % len(ready)]
        place = queues[cursor].popleft()
        if not queues[cursor]:
            ready.remove(cursor)
        ends[place] = time + (runs[place].ended - runs[place].started)
        heapq.heappush(free, (ends[place], number))
        steps += 1
        if steps % STRETCH == 0:
            rest()
    return ends


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
