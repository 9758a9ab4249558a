"""Random problems for tests, each made from one seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bentham.core import (
    Arm,
    Decision,
    JointPrior,
    Prior,
    ProductPrior,
    Scheduler,
    SharedPrior,
    StudySpec,
)
from bentham.sim import Oracle

Matrix = npt.NDArray[np.float64]


def random_covariance(rng: np.random.Generator, size: int, rank: int | None = None) -> Matrix:
    """A covariance with entries of order one; singular if the rank is below the size."""
    root = rng.standard_normal((size, rank or size + 2))
    return np.asarray(root @ root.T / root.shape[1])


@dataclass(frozen=True)
class Problem:
    """Studies, their true scores and a prior."""

    studies: list[StudySpec]
    truth: Mapping[Arm, float]
    prior: Prior


def random_problem(
    seed: int,
    layout: str = "shared",
    *,
    studies: int = 5,
    models: int = 4,
    shared_datasets: bool = True,
) -> Problem:
    """Studies over a few datasets, most listing only some of the models."""
    rng = np.random.default_rng(seed)
    names = [f"m{model}" for model in range(models)]
    datasets = [f"d{d}" for d in range(max(1, studies - 2) if shared_datasets else studies)]
    covariance = random_covariance(rng, models)
    mean = rng.normal(1.0, 0.5, models)
    arms = [Arm(dataset, name) for dataset in datasets for name in names]
    costs = {arm: float(rng.choice([1.0, 2.0, 3.0, 0.5])) for arm in arms}
    truth = {arm: float(rng.normal(1.0, 1.0)) for arm in arms}
    specs = []
    for number in range(studies):
        dataset = datasets[number % len(datasets)]
        listed = [name for name in names if rng.random() < 0.8] or names[:1]
        weight = float(rng.choice([0.5, 1.0, 2.0]))
        costs_listed = {name: costs[Arm(dataset, name)] for name in listed}
        specs.append(StudySpec(f"s{number}", costs_listed, dataset, weight, floor=-3.0))
    prior: Prior
    if layout == "shared":
        prior = SharedPrior(names, mean, covariance, jitter=1e-6)
    elif layout == "product":
        similarity = random_covariance(rng, len(datasets))
        similarity[-1, :-1] = similarity[:-1, -1] = 0.0  # one dataset apart from the others
        prior = ProductPrior(datasets, similarity, names, mean, covariance, jitter=1e-6)
    else:
        joint = random_covariance(rng, len(arms))
        shuffled = rng.permutation(len(arms))  # arms in no particular order
        prior = JointPrior([arms[i] for i in shuffled], np.ones(len(arms)), joint)
    return Problem(specs, truth, prior)


def small_prior(models: int = 3) -> SharedPrior:
    return SharedPrior(
        [f"m{i}" for i in range(models)],
        np.linspace(0.4, 0.6, models),
        0.1 * np.eye(models) + 0.05,
    )


def small_scheduler(warm_start: str = "none", **options: object) -> Scheduler:
    return Scheduler(small_prior(), warm_start=warm_start, **options)  # type: ignore[arg-type]


def next_arm(scheduler: Scheduler, device: str | int) -> tuple[str, str]:
    decision = scheduler.ask(device)
    assert decision is not None
    return decision.study, decision.model


def flat_prior(models: int) -> SharedPrior:
    return SharedPrior([f"m{i}" for i in range(models)], np.zeros(models), np.eye(models))


def scheduler_for(problem: Problem, policy: str, **options: Any) -> Scheduler:
    chosen = Oracle.knowing(problem.truth) if policy == "oracle" else policy
    return Scheduler(problem.prior, chosen, **options)


def add_all(scheduler: Scheduler, problem: Problem, devices: int = 2) -> None:
    for study in problem.studies:
        scheduler.add_study(
            study.name, study.costs, dataset=study.dataset, weight=study.weight, floor=study.floor
        )
    for device in range(devices):
        scheduler.add_device(device)


def drain(scheduler: Scheduler, problem: Problem, devices: int = 2) -> list[Decision]:
    """Run everything; each device ends its trial before it requests the next."""
    decisions, running = [], {device: scheduler.ask(device) for device in range(devices)}
    while any(running.values()):
        for device, decision in running.items():
            if decision is not None:
                decisions.append(decision)
                score = problem.truth[Arm(decision.dataset, decision.model)]
                scheduler.tell(decision.trial, score)
                running[device] = scheduler.ask(device)
    return decisions
