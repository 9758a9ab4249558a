"""One world, one number of devices, one policy: what would happen from now on.

The scheduler is a fork of the real one, and decides as that would; a simulated trial takes as long
and scores as much as the world has it. Trials that run now end first: one that has run for longer
than it takes in this world is taken to need twice the time that it ran, as the scheduler takes it.
Where there are fewer devices than now, idle ones leave at once and busy ones when their trial ends.
"""

import heapq
from dataclasses import dataclass

from bentham.core import Scheduler
from bentham.core.problem.events import TrialStarted
from bentham.core.worlds.draws import Draw
from bentham.forecast.course import Course, Meter
from bentham.forecast.situation import RunningTrial, Situation
from bentham.forecast.stops import Stops

LIMIT = "running-trials"
# The shortest that a trial takes, so that time passes.
SHORTEST = 1e-3


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a world is followed: to so much mean regret, or to the end of so many trials.

    With `beyond` it goes on until mean regret is that share of it, at most as long again.
    """

    regret: float
    decisions: int
    beyond: float | None = None


class Simulation:
    """Runs once."""

    def __init__(self, situation: Situation, scheduler: Scheduler, draw: Draw, devices: int):
        """`scheduler` is a fork of the situation's, for this simulation alone."""
        self._scheduler, self._draw = scheduler, draw
        self._limits = situation.limits
        self._meter = Meter(situation, draw)
        self._stops = Stops(situation, scheduler, self._meter)
        self._tenants = {study.id: study.tenant for study in situation.studies}
        self._busy: dict[str, int] = {}  # running trials by limited tenant
        self._ends: list[tuple[float, int]] = []
        self._running: dict[int, RunningTrial] = {}
        for trial in situation.running:
            needed = draw.cost(trial.dataset, trial.model) - trial.elapsed
            self._start(trial, needed if needed > 0.0 else trial.elapsed)
        self._idle: list[str] = []
        self._leaving: set[str] = set()
        self._arrange(situation, devices)
        self._left = 0  # decisions

    def run(self, bounds: Bounds) -> Course:
        """What becomes of mean regret."""
        course = Course()
        course.note(0.0, self._meter.mean)
        self._left = bounds.decisions
        self._fill(0.0)
        there = False
        while self._ends and course.regrets[-1] > bounds.regret * (bounds.beyond or 1.0):
            if course.regrets[-1] <= bounds.regret and not there:
                there = True
                self._left = min(self._left, bounds.decisions - self._left)
            time = self._ends[0][0]
            while self._ends and self._ends[0][0] == time:
                self._end(self._running.pop(heapq.heappop(self._ends)[1]), time)
            course.note(time, self._meter.mean)
            self._stops.pass_time(time)
            self._fill(time)
        course.cut = self._left == 0
        return course

    def _arrange(self, situation: Situation, devices: int) -> None:
        """So many devices, of those there are as many as can stay."""
        busy = [trial.device for trial in situation.running]
        known = set(busy)
        idle = [device for device in situation.devices if device not in known]
        stay = set((busy + idle)[:devices])
        self._leaving = set(busy) - stay
        for device in idle:
            if device not in stay:
                self._scheduler.remove_device(device)
        self._idle = [device for device in idle if device in stay]
        for number in range(len(stay), devices):
            name = f"\0{number}"  # no device is called so
            self._scheduler.add_device(name)
            self._idle.append(name)

    def _start(self, trial: RunningTrial, seconds: float, now: float = 0.0) -> None:
        self._running[trial.number] = trial
        heapq.heappush(self._ends, (now + max(SHORTEST, seconds), trial.number))
        if trial.tenant in self._limits:
            self._busy[trial.tenant] = self._busy.get(trial.tenant, 0) + 1

    def _end(self, trial: RunningTrial, time: float) -> None:
        score = self._draw.score(trial.dataset, trial.model)
        self._scheduler.tell(trial.number, score, time=time)
        self._meter.observe(trial.dataset, trial.model, score)
        self._stops.ended(trial, time)
        if trial.tenant in self._busy:
            self._busy[trial.tenant] -= 1
        if trial.device in self._leaving:
            self._scheduler.remove_device(trial.device, time=time)
        else:
            self._idle.append(trial.device)

    def _fill(self, time: float) -> None:
        """Give idle devices something to run, until there is nothing."""
        while self._idle and self._left:
            barred = {
                tenant: LIMIT
                for tenant, most in self._limits.items()
                if self._busy.get(tenant, 0) >= most
            }
            device = self._idle[0]
            decision = self._scheduler.decide(device, barred)
            if decision is None:
                return
            self._scheduler.apply(TrialStarted(time, decision))
            del self._idle[0]
            self._left -= 1
            study, tenant = decision.study, self._tenants[decision.study]
            trial = RunningTrial(
                decision.trial, device, study, tenant, decision.dataset, decision.model, 0.0
            )
            self._start(trial, self._draw.cost(decision.dataset, decision.model), time)
            self._stops.started(trial, time)
