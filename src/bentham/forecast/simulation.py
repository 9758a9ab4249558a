"""Simulates one world with one number of devices under one policy, from now on.

The scheduler is a copy of the real one and makes the decisions that the real one would make. The
world determines how long a simulated trial takes, and its score. Running trials end first. One that
has already exceeded its duration in this world takes twice the time it has run, which is also what
the scheduler assumes. With fewer devices than now, idle devices leave at once and busy ones when
their trial ends.
"""

from dataclasses import dataclass

from bentham.core import Regret, RegretMeter, Scheduler
from bentham.core.problem.events import ArmStarted
from bentham.core.worlds.draws import Draw
from bentham.core.worlds.virtual_time import VirtualPool
from bentham.forecast.starting_point import Listers, RunningTrial, StartingPoint
from bentham.forecast.stops import Stops

LIMIT = "running-trials"
# The minimum duration of a trial, in seconds, so that time always advances.
SHORTEST = 1e-3


@dataclass(frozen=True, slots=True)
class Horizon:
    """When a simulation ends: at a level of mean regret, or after a number of decisions.

    With `beyond` it continues to that fraction of the level, with at most as many further decisions
    as it took to reach the level.
    """

    regret: float
    decisions: int
    beyond: float | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """Mean regret over time in one simulation; `cut` if its decisions were used up."""

    regret: Regret
    cut: bool


def meter_of(start: StartingPoint, draw: Draw) -> RegretMeter:
    """Return a meter of regret in a world, starting from the current incumbents."""
    bests = draw.bests()
    best = [bests[study.id] for study in start.studies]
    # A floor above every score of a study leaves no regret.
    value = [min(study.value, top) for study, top in zip(start.studies, best, strict=True)]
    return RegretMeter(best, value, scored=[study.scored for study in start.studies])


class Simulation:
    """A simulation of the pool, which can be run once."""

    def __init__(self, start: StartingPoint, scheduler: Scheduler, draw: Draw, devices: int):
        """`scheduler` is a copy of the scheduler in `start`, used only by this simulation."""
        self._scheduler, self._draw = scheduler, draw
        self._limits = start.limits
        self._meter = meter_of(start, draw)
        self._listers = Listers(start.studies)
        self._tenants = {study.id: study.tenant for study in start.studies}
        self._running: dict[str, int] = {}  # the number of running trials, by limited tenant
        self._scores: list[tuple[int, float]] = []  # of the current instant, by study index
        self._pool = VirtualPool()
        self._stops = Stops(start, scheduler, self._listers, self._pool)
        self._names: list[str] = []  # of the devices that stay
        self._place_devices(start, devices)
        self._horizon = Horizon(0.0, 0)
        self._decisions_left = 0
        self._reached = False

    def run(self, horizon: Horizon) -> Course:
        """Run the simulation; return mean regret over time."""
        self._horizon, self._decisions_left = horizon, horizon.decisions
        if not self._done():
            self._pool.run(self)
        return Course(self._meter.finish(self._pool.now), self._decisions_left == 0)

    def next_job(self, device: int, now: float) -> tuple[RunningTrial, float] | None:
        """Return the next trial of an idle device and when it ends; None if there is none."""
        if not self._decisions_left:
            return None
        barred = {
            tenant: LIMIT
            for tenant, limit in self._limits.items()
            if self._running.get(tenant, 0) >= limit
        }
        decision = self._scheduler.decide(self._names[device], barred)
        if decision is None:
            return None
        self._scheduler.apply(ArmStarted(now, decision))
        self._decisions_left -= 1
        tenant = self._tenants[decision.study]
        trial = RunningTrial(
            decision.trial, self._names[device], decision.study, tenant, decision.dataset,
            decision.model, 0.0,
        )  # fmt: skip
        self._count_running(trial)
        self._stops.started(trial, now)
        cost = self._draw.cost(decision.dataset, decision.model)
        return trial, now + max(SHORTEST, cost)

    def ended(self, device: int, job: RunningTrial, now: float) -> None:
        """Report the score of a trial to the scheduler."""
        score = self._draw.score(job.dataset, job.model)
        self._scheduler.tell(job.number, score, time=now)
        self._scores += [(index, score) for index, _ in self._listers.of(job.dataset, job.model)]
        self._stops.ended(job, now)
        if job.tenant in self._running:
            self._running[job.tenant] -= 1
        if device >= len(self._names):  # a surplus device, which leaves
            self._scheduler.remove_device(job.device, time=now)

    def instant(self, now: float) -> bool:
        """Record the scores of this instant; return whether the simulation continues."""
        self._meter.observe(now, self._scores)
        self._scores = []
        if self._meter.mean <= self._horizon.regret and not self._reached:
            self._reached = True
            used = self._horizon.decisions - self._decisions_left
            self._decisions_left = min(self._decisions_left, used)
        return not self._done()

    def _done(self) -> bool:
        return self._meter.mean <= self._horizon.regret * (self._horizon.beyond or 1.0)

    def _place_devices(self, start: StartingPoint, devices: int) -> None:
        """Use this many devices: busy ones first, then idle ones, then new ones.

        Those that stay are numbered from 0; busy ones that leave come after them.
        """
        busy = {trial.device: trial for trial in start.running}
        idle = [device for device in start.devices if device not in busy]
        present = [*busy, *idle]
        self._names = present[:devices]
        for number in range(len(present), devices):
            name = f"\0{number}"  # never the name of a real device
            self._scheduler.add_device(name)
            self._names.append(name)
        for number, name in enumerate([*self._names, *present[devices:]]):
            stays = number < len(self._names)
            if name in busy:
                trial = busy[name]
                remaining = self._draw.cost(trial.dataset, trial.model) - trial.elapsed
                end = max(SHORTEST, remaining if remaining > 0.0 else trial.elapsed)
                self._count_running(trial)
                self._pool.start(self, number, trial, end)
                if not stays:
                    self._pool.leave(number)
            elif stays:
                self._pool.join(number)
            else:
                self._scheduler.remove_device(name)

    def _count_running(self, trial: RunningTrial) -> None:
        if trial.tenant in self._limits:
            self._running[trial.tenant] = self._running.get(trial.tenant, 0) + 1
