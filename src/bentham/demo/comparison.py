"""How much later round robin would have brought the same happiness.

All of it is computed from what was measured. Every model of every study was trained, so the best of
each study is known, and with it the regret at any time: of the run itself, and of others that the
simulator makes with the very scores and times that were measured.

A dozen studies are few, and the result depends on which comes first. So both policies are replayed
over the same few orders of the studies, the real one among them, and the mean is reported.
Regret and happiness are those of `core.theory.regret`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentham.core import LearnedPrior
from bentham.core.problem.study import ModelDescription
from bentham.core.theory.regret import Regret, RegretMeter
from bentham.demo.record import Measured
from bentham.experiments.process_pool import run_in_pool
from bentham.sim import simulate
from bentham.tables import Table

LEVELS = (0.9, 0.98, 0.99, 1.0)  # of happiness
SHORTEST = 1e-3  # seconds; a cost is above zero
REPLAYS = 5
JOINT, ROUND_ROBIN = "joint", "round-robin"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Regret over time: of the run as it was, and the mean of replays under two policies."""

    real: Regret
    joint: Regret
    round_robin: Regret

    def times(self, level: float) -> tuple[float, float, float]:
        """When each came to a level of happiness, in seconds from the start."""
        return (
            time_to_happiness(self.real, level),
            time_to_happiness(self.joint, level),
            time_to_happiness(self.round_robin, level),
        )


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """A run to be simulated: which policy, over the table's studies in which order."""

    policy: str
    order: tuple[int, ...]
    devices: int


def compare(measured: Measured, devices: int, replays: int = REPLAYS) -> Comparison:
    """The run, and replays of it, made on all cores."""
    table = measured_table(measured)
    tasks = [
        PlannedReplay(policy, order, devices)
        for policy in (JOINT, ROUND_ROBIN)
        for order in orders(len(table.studies), replays)
    ]
    found: dict[str, list[Regret]] = {JOINT: [], ROUND_ROBIN: []}
    given = (table, dict(measured.descriptions))
    for task, regret in run_in_pool(_replayed_in_pool, tasks, None, _begin, *given):
        found[task.policy].append(regret)
    return Comparison(
        real_regret(measured), mean_regret(found[JOINT]), mean_regret(found[ROUND_ROBIN])
    )


def orders(studies: int, count: int) -> list[tuple[int, ...]]:
    """The order that there was, and others by chance, the same in every run."""
    chance = np.random.default_rng(0)
    drawn = [tuple(map(int, chance.permutation(studies))) for _ in range(count - 1)]
    return [tuple(range(studies)), *drawn]


def measured_table(measured: Measured) -> Table:
    """Scores, and durations as costs; what failed has neither."""
    models = list(dict.fromkeys(arm.model for arm in measured.arms))
    shape = (len(measured.studies), len(models))
    scores, costs = np.full(shape, np.nan), np.full(shape, np.nan)
    rows = {study.id: place for place, study in enumerate(measured.studies)}
    columns = {model: place for place, model in enumerate(models)}
    for arm in measured.arms:
        place = rows[arm.study], columns[arm.model]
        scores[place], costs[place] = arm.score, max(arm.ended - arm.started, SHORTEST)
    return Table(
        "demo",
        tuple(study.id for study in measured.studies),
        tuple(models),
        scores,
        costs,
        sizes=tuple((study.rows or 0, study.columns or 0) for study in measured.studies),
    )


def real_regret(measured: Measured) -> Regret:
    """The true regret of the run as it was, from when the first study was there."""
    places = {study.id: place for place, study in enumerate(measured.studies)}
    best = [max(measured.scores_of(study.id)) for study in measured.studies]
    began = min(study.created for study in measured.studies)
    meter = RegretMeter(best, [study.floor for study in measured.studies])
    arms = sorted(measured.arms, key=lambda arm: arm.ended)
    for arm in arms:
        meter.observe(arm.ended - began, [(places[arm.study], arm.score)])
    return meter.finish(arms[-1].ended - began)


def replayed(
    table: Table, descriptions: Mapping[str, ModelDescription], replay: PlannedReplay
) -> Regret:
    """The regret of a policy over the table; like the service it must learn scores and costs."""
    studies = [
        replace(study, descriptions={model: descriptions[model] for model in study.costs})
        for study in table.only(replay.order).specs()
    ]
    run = simulate(
        studies,
        table.truth(),
        LearnedPrior(),
        replay.policy,
        devices=replay.devices,
        learn_costs=True,
    )
    return run.regret


# What a process of the pool works on.
_given: list[tuple[Table, Mapping[str, ModelDescription]]] = []


def _begin(table: Table, descriptions: Mapping[str, ModelDescription]) -> None:
    _given.append((table, descriptions))


def _replayed_in_pool(replay: PlannedReplay) -> Regret:
    return replayed(*_given[0], replay)


def mean_regret(runs: Sequence[Regret]) -> Regret:
    """The mean of some runs at every time; each ends with no regret."""
    times = sorted({time for run in runs for time, _ in run.curve})
    at = np.array(times)
    means = np.zeros(len(times))
    for run in runs:
        own, values = np.array(run.curve).T
        means += values[np.searchsorted(own, at, side="right") - 1] / len(runs)
    return Regret(
        math.fsum(run.cumulative for run in runs) / len(runs),
        max(run.end_time for run in runs),
        tuple(zip(times, map(float, means), strict=True)),
    )


def time_to_happiness(regret: Regret, level: float) -> float:
    """When a level of happiness was reached; a run over all arms reaches every one."""
    time = regret.time_to_happiness(level)
    return regret.end_time if time is None else time


def in_words(comparison: Comparison) -> str:
    """What the replays say, for Bentham or against it."""
    taken = {level: comparison.times(level)[1:] for level in LEVELS}
    parts = [
        f"{factor(round_robin, joint)} times to {level:.0%}"
        for level, (joint, round_robin) in taken.items()
        if joint > 0.0
    ]
    if not parts:
        return "There was nothing to gain, and so nothing to compare."
    parts[0] = parts[0].replace("times", "times as long", 1) + " of the happiness"
    text = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    text = f"Round robin takes {text}"
    if comparison.joint.cumulative > 0.0:
        regret = factor(comparison.round_robin.cumulative, comparison.joint.cumulative)
        text += f"; it has {regret} times the regret in all"
    later = [f"{level:.0%}" for level, (joint, round_robin) in taken.items() if joint > round_robin]
    if later:
        text += f", and Bentham is later at {', '.join(later)}"
    return f"{text}."


def factor(later: float, earlier: float) -> str:
    """How many times the one is the other; near 1 with another digit, to tell which is larger."""
    if not earlier > 0.0:
        return "-"
    value = later / earlier
    return f"{value:.2f}" if abs(value - 1.0) < 0.1 else f"{value:.1f}"
