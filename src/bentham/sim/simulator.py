"""A discrete-event simulator: the core's scheduler in virtual time, with true scores and costs.

At one instant, trials that end are observed in the order in which they started, and devices under
repair return. Then idle devices get the next trials, lowest device number first: see
`core.worlds.virtual_time`. All randomness comes from the random seed.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from bentham.core import (
    Arm,
    Event,
    LearnedPrior,
    PastCosts,
    PolicyMaker,
    Prior,
    Regret,
    RegretMeter,
    Scheduler,
    StudySpec,
)
from bentham.core.problem.stop_rules import GAIN_SHARE, StudyProgress, stop_reason
from bentham.core.problem.study import LARGEST
from bentham.core.worlds.virtual_time import VirtualPool
from bentham.errors import InvalidInput
from bentham.sim.oracle import Oracle

ORACLE = Oracle.name
LARGEST_COST_ERROR = 1e6


@dataclass(frozen=True, slots=True)
class Disturbances:
    """Faults to simulate; by default none.

    `failure` is the probability that a trial ends without a score. `loss` is the probability that
    a trial's device dies during the trial; the device returns after `repair` units of time.
    `cost_error` is the maximum random factor by which each expected cost is wrong, up or down.
    """

    failure: float = 0.0
    loss: float = 0.0
    repair: float = 0.0
    cost_error: float = 1.0

    def __post_init__(self) -> None:
        for name, probability in (("failure", self.failure), ("loss", self.loss)):
            if not 0.0 <= probability <= 1.0:
                raise InvalidInput(
                    f"the probability of {name} is {probability}; give a number from 0 to 1"
                )
        if self.failure + self.loss > 1.0:
            raise InvalidInput(
                "the probabilities of failure and loss add up to more than 1; lower one"
            )
        if not 0.0 <= self.repair <= LARGEST:
            raise InvalidInput(f"the repair time is {self.repair}; give a time of 0 or more")
        if not 1.0 <= self.cost_error <= LARGEST_COST_ERROR:
            raise InvalidInput(
                f"the cost error is {self.cost_error}; give a factor from 1 to "
                f"{LARGEST_COST_ERROR:g}"
            )


@dataclass(frozen=True, slots=True)
class SimulatedTrial:
    """One trial of a run; `end` is None if it did not end, `score` is None if it has none."""

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

    @property
    def device_time(self) -> float:
        """Time that devices were busy with trials that ended."""
        return math.fsum(trial.end - trial.start for trial in self.trials if trial.end is not None)


class _SimulatedJob(NamedTuple):
    trial: int
    arm: Arm
    outcome: str


def simulate(
    studies: Sequence[StudySpec],
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
    """Serve the studies until every arm has been tried, or until a time.

    With `learn_costs` the scheduler must learn the costs. With `until_found` the run ends once
    every study has found its best model: from then on there is no regret. `progress` receives the
    number of trials so far.
    """
    if not studies:
        raise InvalidInput("there is no study to serve; give at least one")
    if devices < 1:
        raise InvalidInput(f"the number of devices is {devices}; give at least one")
    if not (0.0 <= until <= LARGEST or until == math.inf):
        raise InvalidInput(f"the simulation runs until {until}; give a time of 0 or more")
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
        studies: Sequence[StudySpec],
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
        for study in _with_cost_errors(studies, self._costs, disturbances.cost_error, seed):
            self._scheduler.add_study(
                study.name,
                list(study.costs) if learn_costs else study.costs,
                dataset=study.dataset,
                weight=study.weight,
                floor=study.floor,
                rows=study.rows,
                columns=study.columns,
                descriptions=study.descriptions,
                gain_share=study.gain_share,
            )
        self._pool = VirtualPool()
        for device in range(devices):
            self._scheduler.add_device(device)
            self._pool.join(device)
        self._trials: list[SimulatedTrial] = []
        self._scores: list[tuple[int, float]] = []  # (study, score), observed at this instant
        self._studies_of: dict[Arm, list[int]] = {}
        for place, study in enumerate(studies):
            for model in study.costs:
                self._studies_of.setdefault(Arm(study.dataset, model), []).append(place)
        self._ending = {
            place: study for place, study in enumerate(studies) if study.gain_share > 0.0
        }
        self._running = Counter[int]()  # by study: running trials of its arms
        self._scored: set[int] = set()
        self._meter = RegretMeter(
            [max(truth[Arm(study.dataset, model)] for model in study.costs) for study in studies],
            [study.floor for study in studies],
            [study.weight for study in studies],
        )

    def run(self) -> Run:
        self._pool.run(self, self._until)
        complete = self._scheduler.finished or (self._until_found and self._meter.found)
        end = self._pool.now if complete else self._until
        horizon = self._until if math.isfinite(self._until) else None
        return Run(tuple(self._trials), self._meter.finish(end, horizon), tuple(self._events))

    def next_job(self, device: int, now: float) -> tuple[_SimulatedJob, float] | None:
        decision = self._scheduler.ask(device, time=now)
        if decision is None:
            return None
        arm = Arm(decision.dataset, decision.model)
        self._running.update(self._studies_of[arm])
        outcome, share = self._drawn_outcome(decision.trial)
        self._trials.append(
            SimulatedTrial(decision.study, decision.model, device, now, None, None, "running")
        )
        if self._progress is not None:
            self._progress(len(self._trials))
        return _SimulatedJob(decision.trial, arm, outcome), now + self._costs[arm] * share

    def ended(self, device: int, job: _SimulatedJob, now: float) -> None:
        self._running.subtract(self._studies_of[job.arm])
        score = self._truth[job.arm] if job.outcome == "complete" else None
        self._trials[job.trial] = replace(
            self._trials[job.trial], end=now, score=score, outcome=job.outcome
        )
        if job.outcome == "lost":
            self._scheduler.remove_device(device, time=now)
            self._pool.leave(device)
            self._pool.at(now + self._disturbances.repair, lambda: self._repaired(device))
        elif score is None:
            self._scheduler.fail(job.trial, "simulated failure", time=now)
        else:
            self._scheduler.tell(job.trial, score, time=now)
            self._scores += [(place, score) for place in self._studies_of[job.arm]]
            self._scored.update(self._studies_of[job.arm])
        self._end_studies(self._studies_of[job.arm], now)

    def instant(self, now: float) -> bool:
        self._meter.observe(now, self._scores)
        self._scores = []
        # What is learned from one study may end another.
        self._end_studies(list(self._ending), now)
        # Once everything has been tried, devices under repair do not matter.
        return not (self._scheduler.finished or (self._until_found and self._meter.found))

    def _end_studies(self, places: Sequence[int], now: float) -> None:
        """Remove those of the studies that are over, for good, as the live service closes them."""
        for place in places:
            if (study := self._ending.get(place)) is None:
                continue
            progress = StudyProgress(
                ended=0,
                device_seconds=0.0,
                scored=place in self._scored,
                untried=True,  # if nothing is left, nothing needs to be ended
                perfect=False,  # the scores of tables have no known maximum
                running=partial(bool, self._running[place]),
                prospect=partial(self._scheduler.prospect, study.name),
            )
            if stop_reason({GAIN_SHARE: study.gain_share}, progress, now) is not None:
                del self._ending[place]
                self._scheduler.remove_study(study.name, time=now)

    def _repaired(self, device: int) -> None:
        self._scheduler.add_device(device, time=self._pool.now)
        self._pool.join(device)

    def _drawn_outcome(self, trial: int) -> tuple[str, float]:
        """Draw the trial's outcome, and the fraction of its time that it runs, from its number."""
        failure, loss = self._disturbances.failure, self._disturbances.loss
        if failure == 0.0 and loss == 0.0:
            return "complete", 1.0
        draw, share = np.random.default_rng([self._seed, 1, trial]).random(2)
        if draw < failure:
            return "failed", float(share)
        return ("lost", float(share)) if draw < failure + loss else ("complete", 1.0)


def true_costs(studies: Sequence[StudySpec]) -> dict[Arm, float]:
    """Return the true cost of every arm; every study must list all its costs."""
    return {
        Arm(study.dataset, model): study.cost(model) for study in studies for model in study.costs
    }


def _with_cost_errors(
    studies: Sequence[StudySpec], costs: Mapping[Arm, float], factor: float, seed: int
) -> list[StudySpec]:
    """Return the studies with the costs that the scheduler expects: wrong by up to the factor."""
    if factor == 1.0:
        return list(studies)
    powers = np.random.default_rng([seed, 2]).uniform(-1.0, 1.0, len(costs))
    expected = {
        arm: cost * factor ** float(power)
        for (arm, cost), power in zip(costs.items(), powers, strict=True)
    }
    return [
        replace(
            study,
            costs={model: expected[Arm(study.dataset, model)] for model in study.costs},
        )
        for study in studies
    ]
