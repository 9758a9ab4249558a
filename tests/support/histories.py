"""Random histories: studies and devices are added and removed, and trials end in every way.

One history, generated from one seed, drives several schedulers in the same way and compares them
at random steps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bentham.core import LearnedPrior, Prior, Scheduler
from support.problems import random_problem

MODELS = ("m0", "m1", "m2", "m3", "m4")
DATASETS = ("d0", "d1", "d2")
COSTS = ("given", "missing", "mixed", "later")  # "later": given by the first studies only
PRIORS = ("shared", "product", "joint", "learned", "history")


def prior_named(name: str, seed: int) -> Prior | LearnedPrior:
    """A fixed prior, or a learned one without or with a history and features."""
    if name == "learned":
        return LearnedPrior()
    if name == "history":
        rng = np.random.default_rng(seed)
        history = rng.normal(0.7, 0.1, (6, 4))
        history[rng.random(history.shape) < 0.3] = np.nan
        return LearnedPrior(MODELS[:4], history, rng.random((4, 2)))
    return random_problem(seed, name, studies=5, models=len(MODELS)).prior


def fingerprint(scheduler: Scheduler) -> str:
    """Return everything a scheduler reports, as text that shows any difference in a float."""
    idle = [device for device, trial in scheduler.devices.items() if trial is None]
    studies = scheduler.studies
    return repr(
        (
            studies,
            scheduler.devices,
            scheduler.finished,
            [scheduler.decide(device) for device in idle[:1]],
            [(scheduler.incumbent(study), scheduler.beliefs(study)) for study in studies],
        )
    )


@dataclass
class History:
    """Random events that are valid for the schedulers' current state."""

    seed: int
    costs: str
    schedulers: list[Scheduler]
    time: float = 0.0
    added: int = 0
    durations: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.durations = {
            (dataset, model): float(self.rng.lognormal(0.0, 1.0))
            for dataset in DATASETS
            for model in MODELS
        }

    def run(self, steps: int) -> None:
        """Apply this number of events."""
        for _ in range(steps):
            self.time += float(self.rng.exponential(0.3))
            self.step()
            # Query after some steps only: results must not depend on caches that queries fill.
            if self.rng.random() < 0.5:
                self.check_agreement()

    def check_agreement(self) -> None:
        first, *others = [fingerprint(scheduler) for scheduler in self.schedulers]
        for other in others:
            assert other == first

    def each(self, action: Callable[[Scheduler], Any]) -> Any:
        first, *others = [action(scheduler) for scheduler in self.schedulers]
        for other in others:
            assert repr(other) == repr(first)
        return first

    def step(self) -> None:
        """Apply one random event, most often of a trial."""
        rng, known = self.rng, self.schedulers[0]
        running = [trial for trial in known.devices.values() if trial is not None]
        idle = [device for device, trial in known.devices.items() if trial is None]
        chance = rng.random()
        if chance < 0.12 or not known.studies:
            self.add_study()
        elif chance < 0.16:
            study = str(rng.choice(known.studies))
            self.each(lambda scheduler: scheduler.remove_study(study, time=self.time))
        elif chance < 0.22 or not known.devices:
            self.add_device()
        elif chance < 0.24:
            device = list(known.devices)[int(rng.integers(len(known.devices)))]
            self.each(lambda scheduler: scheduler.remove_device(device, time=self.time))
        elif idle and (chance < 0.6 or not running):
            device = idle[int(rng.integers(len(idle)))]
            self.each(lambda scheduler: scheduler.ask(device, time=self.time))
        elif running:
            self.end(running[int(rng.integers(len(running)))])

    def add_device(self) -> None:
        kind, name = str(self.rng.choice(["cpu", "gpu"])), f"device-{self.added}"
        self.added += 1
        self.each(lambda scheduler: scheduler.add_device(name, kind=kind, time=self.time))

    def add_study(self) -> None:
        rng = self.rng
        dataset = str(rng.choice(DATASETS))
        listed = [model for model in MODELS if rng.random() < 0.7] or [MODELS[0]]
        missing = {"given": 0.0, "missing": 1.0, "mixed": 0.5, "later": float(self.added > 8)}
        costs = {
            model: None if rng.random() < missing[self.costs] else self.durations[dataset, model]
            for model in listed
        }
        options: dict[str, Any] = {
            "dataset": dataset,
            "weight": float(rng.choice([0.5, 1.0, 2.0])),
            "floor": float(rng.choice([-1.0, 0.0])),
            "rows": int(rng.integers(10, 1000)) if rng.random() < 0.5 else None,
            "time": self.time,
        }
        name = f"s{self.added}"
        self.added += 1
        self.each(lambda scheduler: scheduler.add_study(name, costs, **options))

    def end(self, trial: int) -> None:
        score, time = float(self.rng.normal(0.7, 0.2)), self.time
        match str(self.rng.choice(["tell", "tell", "tell", "tell", "fail", "lose"])):
            case "tell":
                self.each(lambda scheduler: scheduler.tell(trial, score, time=time))
            case "fail":
                self.each(lambda scheduler: scheduler.fail(trial, "out of memory", time=time))
            case _:
                self.each(lambda scheduler: scheduler.lose(trial, time=time))
