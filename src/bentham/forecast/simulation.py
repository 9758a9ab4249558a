"""One world, one number of devices, one policy: what would happen from now on.

The scheduler is a copy of the real one and decides as that one would. A simulated trial takes as
long and scores as much as the world says. Trials that run now end first: one that has already run
longer than it takes in this world needs as long again as it ran, which is what the scheduler
assumes too. With fewer devices than now, idle ones leave at once and busy ones when their trial
ends.
"""

from dataclasses import dataclass

from bentham.core import Regret, RegretMeter, Scheduler
from bentham.core.problem.events import TrialStarted
from bentham.core.worlds.draws import Draw
from bentham.core.worlds.virtual_time import VirtualPool
from bentham.forecast.starting_point import Listers, RunningTrial, StartingPoint
from bentham.forecast.stops import Stops

LIMIT = "running-trials"
# The shortest duration of a trial, in seconds, so that time passes.
SHORTEST = 1e-3


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far a world is followed: to a level of mean regret, or to a number of decisions.

    With `beyond` it is followed until mean regret is that share of the level, with at most as
    many decisions again.
    """

    regret: float
    decisions: int
    beyond: float | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What became of mean regret; `cut` if the decisions were used up."""

    regret: Regret
    cut: bool


def meter_of(start: StartingPoint, draw: Draw) -> RegretMeter:
    """Measures regret in a world, from the incumbents of now."""
    bests = draw.bests()
    best = [bests[study.id] for study in start.studies]
    # A floor above everything that a study can find leaves no regret.
    value = [min(study.value, top) for study, top in zip(start.studies, best, strict=True)]
    return RegretMeter(best, value, scored=[study.scored for study in start.studies])


class Simulation:
    """Runs once."""

    def __init__(self, start: StartingPoint, scheduler: Scheduler, draw: Draw, devices: int):
        """`scheduler` is a copy of the start's, for this simulation alone."""
        self._scheduler, self._draw = scheduler, draw
        self._limits = start.limits
        self._meter = meter_of(start, draw)
        self._listers = Listers(start.studies)
        self._tenants = {study.id: study.tenant for study in start.studies}
        self._running: dict[str, int] = {}  # trials, by limited tenant
        self._scores: list[tuple[int, float]] = []  # of this instant
        self._pool = VirtualPool()
        self._stops = Stops(start, scheduler, self._listers, self._pool)
        self._names: list[str] = []
        self._arrange(start, devices)
        self._horizon = Horizon(0.0, 0)
        self._left = 0  # decisions
        self._reached = False

    def run(self, horizon: Horizon) -> Course:
        """What becomes of mean regret."""
        self._horizon, self._left = horizon, horizon.decisions
        if not self._done():
            self._pool.run(self)
        return Course(self._meter.finish(self._pool.now), self._left == 0)

    def next_job(self, device: int, now: float) -> tuple[RunningTrial, float] | None:
        """Decide what an idle device runs."""
        if not self._left:
            return None
        barred = {
            tenant: LIMIT
            for tenant, most in self._limits.items()
            if self._running.get(tenant, 0) >= most
        }
        decision = self._scheduler.decide(self._names[device], barred)
        if decision is None:
            return None
        self._scheduler.apply(TrialStarted(now, decision))
        self._left -= 1
        tenant = self._tenants[decision.study]
        trial = RunningTrial(
            decision.trial, self._names[device], decision.study, tenant, decision.dataset,
            decision.model, 0.0,
        )  # fmt: skip
        self._started(trial)
        self._stops.started(trial, now)
        cost = self._draw.cost(decision.dataset, decision.model)
        return trial, now + max(SHORTEST, cost)

    def ended(self, device: int, job: RunningTrial, now: float) -> None:
        """Tell the scheduler the score of a trial."""
        score = self._draw.score(job.dataset, job.model)
        self._scheduler.tell(job.number, score, time=now)
        self._scores += [(place, score) for place, _ in self._listers.of(job.dataset, job.model)]
        self._stops.ended(job, now)
        if job.tenant in self._running:
            self._running[job.tenant] -= 1
        if device >= len(self._names):  # one that leaves
            self._scheduler.remove_device(job.device, time=now)

    def instant(self, now: float) -> bool:
        """Whether to follow the world further."""
        self._meter.observe(now, self._scores)
        self._scores = []
        if self._meter.mean <= self._horizon.regret and not self._reached:
            self._reached = True
            self._left = min(self._left, self._horizon.decisions - self._left)
        return not self._done()

    def _done(self) -> bool:
        return self._meter.mean <= self._horizon.regret * (self._horizon.beyond or 1.0)

    def _arrange(self, start: StartingPoint, devices: int) -> None:
        """Take this many devices: busy ones first, then idle ones, then new ones.

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
                needed = self._draw.cost(trial.dataset, trial.model) - trial.elapsed
                end = max(SHORTEST, needed if needed > 0.0 else trial.elapsed)
                self._started(trial)
                self._pool.start(self, number, trial, end)
                if not stays:
                    self._pool.leave(number)
            elif stays:
                self._pool.join(number)
            else:
                self._scheduler.remove_device(name)

    def _started(self, trial: RunningTrial) -> None:
        if trial.tenant in self._limits:
            self._running[trial.tenant] = self._running.get(trial.tenant, 0) + 1
