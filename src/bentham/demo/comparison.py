"""How much longer round robin would have taken, and what ending studies early would have saved.

Everything is computed from measurements. Every model of every study was trained, so each study's
best score is known, and with it the regret at any time: of the real run, and of runs that the
simulator replays with the measured scores and times.

A dozen studies are few, and the result depends on their order. So both policies are replayed over
the same few orders of the studies, including the real one, and the mean is reported. Regret and
happiness are those of `core.theory.regret`.

The demo trains every model, so that all scores are known. By default studies end earlier: see
`core.problem.stop_rules`. The same replays with that rule show what it would have saved.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentham.core import LearnedPrior
from bentham.core.problem.stop_rules import DEFAULT_GAIN_SHARE
from bentham.core.problem.study import ModelDescription
from bentham.core.theory.regret import Regret, RegretMeter
from bentham.demo.record import Measured
from bentham.experiments.process_pool import run_in_pool
from bentham.sim import Run, simulate
from bentham.tables import Table

LEVELS = (0.9, 0.98, 0.99, 1.0)  # of happiness
SHORTEST = 1e-3  # minimum cost in seconds, since costs must be above zero
REPLAYS = 5
JOINT, ROUND_ROBIN = "joint", "round-robin"


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """What replays save and lose if studies end when nothing left is worth running.

    Attributes:
        saved: The share of the device time that is saved, mean over the replays.
        lost: The share of the final happiness that is lost, of each replay.
    """

    saved: float
    lost: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Regret over time: of the real run, and the mean of replays under two policies."""

    real: Regret
    joint: Regret
    round_robin: Regret
    early: EarlyEnd

    def times(self, level: float) -> tuple[float, float, float]:
        """Return when each reached a level of happiness, in seconds from the start."""
        return (
            time_to_happiness(self.real, level),
            time_to_happiness(self.joint, level),
            time_to_happiness(self.round_robin, level),
        )


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """A run to simulate: the policy, the order of the table's studies, and when they end."""

    policy: str
    order: tuple[int, ...]
    devices: int
    gain_share: float = 0.0


@dataclass(frozen=True, slots=True)
class _Replays:
    """What all replays share."""

    table: Table
    floors: Mapping[str, float]
    descriptions: Mapping[str, ModelDescription]


def compare(measured: Measured, devices: int, replays: int = REPLAYS) -> Comparison:
    """Compare the real run with replays of it, which run on all cores."""
    table = measured_table(measured)
    kinds = ((JOINT, 0.0), (ROUND_ROBIN, 0.0), (JOINT, DEFAULT_GAIN_SHARE))
    tasks = [
        PlannedReplay(policy, order, devices, gain_share)
        for policy, gain_share in kinds
        for order in orders(len(table.studies), replays)
    ]
    floors = {study.id: study.floor for study in measured.studies}
    found: dict[tuple[str, float], list[Run]] = {kind: [] for kind in kinds}
    shared = _Replays(table, floors, dict(measured.descriptions))
    for task, run in run_in_pool(_replayed_in_pool, tasks, None, _begin, shared):
        found[task.policy, task.gain_share].append(run)
    joint, round_robin, early = (found[kind] for kind in kinds)
    return Comparison(
        real_regret(measured),
        mean_regret([run.regret for run in joint]),
        mean_regret([run.regret for run in round_robin]),
        EarlyEnd(
            1.0 - _device_time(early) / _device_time(joint),
            tuple(1.0 - run.regret.happiness for run in early),
        ),
    )


def _device_time(runs: Sequence[Run]) -> float:
    return math.fsum(run.device_time for run in runs)


def orders(studies: int, count: int) -> list[tuple[int, ...]]:
    """Return the real order and random others, the same in every run."""
    rng = np.random.default_rng(0)
    drawn = [tuple(map(int, rng.permutation(studies))) for _ in range(count - 1)]
    return [tuple(range(studies)), *drawn]


def measured_table(measured: Measured) -> Table:
    """Return a table of the scores, with durations as costs; failed arms have neither."""
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
    """Return the true regret of the real run, from the creation of the first study."""
    places = {study.id: place for place, study in enumerate(measured.studies)}
    best = [max(measured.scores_of(study.id)) for study in measured.studies]
    began = min(study.created for study in measured.studies)
    meter = RegretMeter(best, [study.floor for study in measured.studies])
    arms = sorted(measured.arms, key=lambda arm: arm.ended)
    for arm in arms:
        meter.observe(arm.ended - began, [(places[arm.study], arm.score)])
    return meter.finish(arms[-1].ended - began)


def _replayed(shared: _Replays, replay: PlannedReplay) -> Run:
    """Simulate a policy on the table; as in the service, it must learn scores and costs."""
    studies = [
        replace(
            study,
            floor=shared.floors[study.name],
            gain_share=replay.gain_share,
            descriptions={model: shared.descriptions[model] for model in study.costs},
        )
        for study in shared.table.only(replay.order).specs()
    ]
    return simulate(
        studies,
        shared.table.truth(),
        LearnedPrior(),
        replay.policy,
        devices=replay.devices,
        learn_costs=True,
    )


_shared: list[_Replays] = []  # set in each process of the pool


def _begin(shared: _Replays) -> None:
    _shared.append(shared)


def _replayed_in_pool(replay: PlannedReplay) -> Run:
    return _replayed(_shared[0], replay)


def mean_regret(runs: Sequence[Regret]) -> Regret:
    """Return the mean of several runs at every time; each run ends without regret."""
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
    """Return when a level of happiness was reached; a run over all arms reaches every level."""
    time = regret.time_to_happiness(level)
    return regret.end_time if time is None else time


def in_words(comparison: Comparison) -> str:
    """Return the result of the replays in words, whether it favours Bentham or not."""
    taken = {level: comparison.times(level)[1:] for level in LEVELS}
    parts = [
        f"{factor(round_robin, joint)} times for {level:.0%}"
        for level, (joint, round_robin) in taken.items()
        if joint > 0.0
    ]
    if not parts:
        return "There was nothing to gain, and so nothing to compare."
    parts[0] = parts[0].replace("times for", "times as long to reach") + " of the happiness"
    text = f"Round robin takes {_listed(parts)}."
    if comparison.joint.cumulative > 0.0:
        regret = factor(comparison.round_robin.cumulative, comparison.joint.cumulative)
        text += f" Its cumulative regret is {regret} times Bentham's."
    later = [f"{level:.0%}" for level, (joint, round_robin) in taken.items() if joint > round_robin]
    if later:
        text += f" Bentham reaches {_listed(later)} later than round robin."
    return text


def early_in_words(early: EarlyEnd) -> str:
    """Return what ending studies early saves and loses, in words."""
    lost = sum(early.lost) / len(early.lost)
    return (
        "The demo trains every model. By default, a study ends when all its untried models "
        f"together are expected to add less than {DEFAULT_GAIN_SHARE:.1%} of its gain over the "
        f"baseline. In these replays this saves {early.saved:.0%} of the device time and loses "
        f"{lost:.2%} of the happiness on average ({max(early.lost):.2%} in the worst order)."
    )


def _listed(parts: Sequence[str]) -> str:
    """Return the parts as a list in words."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def factor(later: float, earlier: float) -> str:
    """Return the ratio as text; near 1 with one more digit, to show which time is longer."""
    if not earlier > 0.0:
        return "-"
    value = later / earlier
    return f"{value:.2f}" if abs(value - 1.0) < 0.1 else f"{value:.1f}"
