"""A discrete-event simulator: virtual time, the scheduler of the core, true scores and costs.

What happens at one instant happens in this order: trials that end are observed in the order they
started (and devices under repair return), then idle devices are filled, lowest first. The queue is
keyed by (time, sequence), so nothing depends on chance but what the seed decides.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bentham.core import (
    Arm,
    Decision,
    Event,
    LearnedPrior,
    PastCosts,
    PolicyMaker,
    Prior,
    Regret,
    RegretMeter,
    Scheduler,
    Study,
)
from bentham.core.problem.study import LARGEST
from bentham.errors import InvalidInput
from bentham.sim.oracle import Oracle

ORACLE = Oracle.name
LARGEST_COST_ERROR = 1e6


@dataclass(frozen=True, slots=True)
class Disturbances:
    """What goes wrong in a simulation; by default nothing.

    `failure`: the chance that a trial ends without a score. `loss`: the chance that a trial's
    device dies at some point of it, to return after `repair` units of time. `cost_error`: what
    the scheduler believes of each cost is off by a random factor of up to this, either way.
    """

    failure: float = 0.0
    loss: float = 0.0
    repair: float = 0.0
    cost_error: float = 1.0

    def __post_init__(self) -> None:
        for name, chance in (("failure", self.failure), ("loss", self.loss)):
            if not 0.0 <= chance <= 1.0:
                raise InvalidInput(f"the chance of {name} is {chance}; it lies between 0 and 1")
        if self.failure + self.loss > 1.0:
            raise InvalidInput("the chances of failure and loss add up to more than 1; lower one")
        if not 0.0 <= self.repair <= LARGEST:
            raise InvalidInput(f"the repair time is {self.repair}; it must be zero or above")
        if not 1.0 <= self.cost_error <= LARGEST_COST_ERROR:
            raise InvalidInput(
                f"the cost error is {self.cost_error}; it is a factor from 1 to "
                f"{LARGEST_COST_ERROR:g}"
            )


@dataclass(frozen=True, slots=True)
class SimulatedTrial:
    """One trial of a run; `end` and `score` are None where it did not end, or without a score."""

    study: str
    model: str
    device: int
    start: float
    end: float | None
    score: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Run:
    """A finished simulation."""

    trials: tuple[SimulatedTrial, ...]
    regret: Regret
    events: tuple[Event, ...]


class _Ending(NamedTuple):
    time: float
    sequence: int
    device: int
    trial: int | None  # None: the device returns from repair
    outcome: str


def simulate(
    studies: Sequence[Study],
    truth: Mapping[Arm, float],
    prior: Prior | LearnedPrior,
    policy: str | PolicyMaker | None = None,
    *,
    devices: int = 4,
    warm_start: str | None = None,
    cost_exponent: float = 1.0,
    learn_costs: bool = False,
    past_costs: PastCosts | None = None,
    correct_costs: bool | None = None,
    until: float = math.inf,
    until_found: bool = False,
    seed: int = 0,
    disturbances: Disturbances | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Serve the studies until every arm was tried, or until a time; `progress` counts trials.

    With `learn_costs` the scheduler is not told what the arms cost. With `until_found` the run
    ends once every study has its best model: from then on there is no regret.
    """
    if not studies:
        raise InvalidInput("there is no study to serve; give at least one")
    if devices < 1:
        raise InvalidInput(f"the number of devices is {devices}; it takes at least one")
    if not (0.0 <= until <= LARGEST or until == math.inf):
        raise InvalidInput(f"the simulation is to run until {until}; name a time of zero or above")
    chosen = Oracle.knowing(truth) if policy == ORACLE else policy
    events: list[Event] = []
    scheduler = Scheduler(
        prior,
        chosen,
        warm_start=warm_start,
        cost_exponent=cost_exponent,
        past_costs=past_costs,
        correct_costs=correct_costs,
        seed=seed,
        record=events.append,
    )
    return _Simulation(
        studies, truth, scheduler, events, devices, learn_costs, until, until_found, seed,
        disturbances or Disturbances(), progress,
    ).run()  # fmt: skip


class _Simulation:
    def __init__(
        self,
        studies: Sequence[Study],
        truth: Mapping[Arm, float],
        scheduler: Scheduler,
        events: list[Event],
        devices: int,
        learn_costs: bool,
        until: float,
        until_found: bool,
        seed: int,
        disturbances: Disturbances,
        progress: Callable[[int], None] | None,
    ):
        self._truth, self._until, self._seed = truth, until, seed
        self._until_found = until_found
        self._disturbances, self._progress = disturbances, progress
        self._scheduler, self._events = scheduler, events
        self._costs = true_costs(studies)
        for study in _misjudged(studies, self._costs, disturbances.cost_error, seed):
            self._scheduler.add_study(
                study.name,
                list(study.costs) if learn_costs else study.costs,
                dataset=study.dataset,
                weight=study.weight,
                floor=study.floor,
                rows=study.rows,
                columns=study.columns,
                descriptions=study.descriptions,
            )
        for device in range(devices):
            self._scheduler.add_device(device)
        self._idle = list(range(devices))
        self._queue: list[_Ending] = []
        self._sequence = 0
        self._decisions: list[Decision] = []
        self._trials: list[SimulatedTrial] = []
        self._listers: dict[Arm, list[int]] = {}
        for place, study in enumerate(studies):
            for model in study.costs:
                self._listers.setdefault(Arm(study.dataset, model), []).append(place)
        self._meter = RegretMeter(
            [max(truth[Arm(study.dataset, model)] for model in study.costs) for study in studies],
            [study.floor for study in studies],
            [study.weight for study in studies],
        )

    def run(self) -> Run:
        now = 0.0
        self._fill(now)
        # Once all is tried, devices still under repair are nobody's concern.
        while not self._scheduler.finished and self._queue and self._queue[0].time <= self._until:
            now = self._queue[0].time
            known: list[tuple[int, float]] = []
            while self._queue and self._queue[0].time == now:
                known += self._end(heapq.heappop(self._queue))
            self._meter.observe(now, known)
            if self._until_found and self._meter.found:
                return self._finished(now)
            self._fill(now)
        return self._finished(now if self._scheduler.finished else self._until)

    def _finished(self, end: float) -> Run:
        horizon = self._until if math.isfinite(self._until) else None
        return Run(tuple(self._trials), self._meter.finish(end, horizon), tuple(self._events))

    def _fill(self, now: float) -> None:
        while self._idle and now < self._until:
            decision = self._scheduler.ask(self._idle[0], time=now)
            if decision is None:
                return
            self._start(self._idle.pop(0), decision, now)

    def _start(self, device: int, decision: Decision, now: float) -> None:
        duration = self._costs[Arm(decision.dataset, decision.model)]
        outcome, share = self._fate(decision.trial)
        self._decisions.append(decision)
        self._trials.append(
            SimulatedTrial(decision.study, decision.model, device, now, None, None, "running")
        )
        self._push(now + duration * share, device, decision.trial, outcome)
        if self._progress is not None:
            self._progress(len(self._trials))

    def _fate(self, trial: int) -> tuple[str, float]:
        """How the trial ends, and after which share of its time; by the seed and its number."""
        failure, loss = self._disturbances.failure, self._disturbances.loss
        if failure == 0.0 and loss == 0.0:
            return "complete", 1.0
        chance, share = np.random.default_rng([self._seed, 1, trial]).random(2)
        if chance < failure:
            return "failed", float(share)
        return ("lost", float(share)) if chance < failure + loss else ("complete", 1.0)

    def _push(self, time: float, device: int, trial: int | None, outcome: str) -> None:
        heapq.heappush(self._queue, _Ending(time, self._sequence, device, trial, outcome))
        self._sequence += 1

    def _end(self, ending: _Ending) -> list[tuple[int, float]]:
        """End a trial, or a repair; returns the scores it brought, by the studies' places."""
        now, device, number = ending.time, ending.device, ending.trial
        if number is None:
            self._scheduler.add_device(device, time=now)
            self._set_idle(device)
            return []
        arm = Arm(self._decisions[number].dataset, self._decisions[number].model)
        score = self._truth[arm] if ending.outcome == "complete" else None
        started = self._trials[number]
        self._trials[number] = SimulatedTrial(
            started.study, started.model, device, started.start, now, score, ending.outcome
        )
        if ending.outcome == "lost":
            self._scheduler.remove_device(device, time=now)
            self._push(now + self._disturbances.repair, device, None, "repaired")
            return []
        self._set_idle(device)
        if score is None:
            self._scheduler.fail(number, "simulated failure", time=now)
            return []
        self._scheduler.tell(number, score, time=now)
        return [(place, score) for place in self._listers[arm]]

    def _set_idle(self, device: int) -> None:
        self._idle = sorted([*self._idle, device])


def true_costs(studies: Sequence[Study]) -> dict[Arm, float]:
    """What every arm costs; a simulation must know."""
    return {
        Arm(study.dataset, model): study.cost(model) for study in studies for model in study.costs
    }


def _misjudged(
    studies: Sequence[Study], costs: Mapping[Arm, float], factor: float, seed: int
) -> list[Study]:
    """The studies with costs as the scheduler believes them: off by up to the factor."""
    if factor == 1.0:
        return list(studies)
    powers = np.random.default_rng([seed, 2]).uniform(-1.0, 1.0, len(costs))
    believed = {
        arm: cost * factor ** float(power)
        for (arm, cost), power in zip(costs.items(), powers, strict=True)
    }
    return [
        replace(
            study,
            costs={model: believed[Arm(study.dataset, model)] for model in study.costs},
        )
        for study in studies
    ]
