"""How much later round robin would have brought the same happiness.

All of it is computed from what was measured. Every model of every study was trained, so the best of
each study is known, and with it the regret at any time: of the run itself, and of others that the
simulator makes with the very scores and times that were measured.

happiness   1 - regret / regret at the start, where regret is the mean over studies of the gap
            between the best score there is and the best so far (the floor, 0, before the first)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentham.core import LearnedPrior
from bentham.core.problem import ModelDescription
from bentham.core.regret import Regret, RegretMeter
from bentham.demo.record import Measured
from bentham.sim import simulate
from bentham.tables import Table

LEVELS = (0.9, 0.98, 0.99, 1.0)  # of happiness
SHORTEST = 1e-3  # seconds; a cost is above zero


@dataclass(frozen=True, slots=True)
class Comparison:
    """Regret over time: of the run as it was, and replayed under two policies."""

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


def compare(measured: Measured, devices: int) -> Comparison:
    """The run, and replays of it."""
    table = measured_table(measured)
    return Comparison(
        real=real_regret(measured),
        joint=replayed(table, measured.descriptions, "joint", devices),
        round_robin=replayed(table, measured.descriptions, "round-robin", devices),
    )


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
    table: Table, descriptions: Mapping[str, ModelDescription], policy: str, devices: int
) -> Regret:
    """The regret of a policy over the table; like the service it must learn scores and costs."""
    studies = [
        replace(study, descriptions={model: descriptions[model] for model in study.costs})
        for study in table.specs()
    ]
    run = simulate(
        studies, table.truth(), LearnedPrior(), policy, devices=devices, learn_costs=True
    )
    return run.regret


def time_to_happiness(regret: Regret, level: float) -> float:
    """When a level of happiness was reached; a run over all arms reaches every one."""
    time = regret.time_to((1.0 - level) * regret.curve[0][1])
    return regret.end_time if time is None else time


def in_words(comparison: Comparison, levels: Sequence[float] = LEVELS) -> list[str]:
    """A sentence for each level, from the two replays; whoever was earlier is named first."""
    lines = []
    for level in levels:
        _, joint, round_robin = comparison.times(level)
        what = f"{level:.0%} of the happiness: "
        (early, first), (late, second) = sorted(
            [(joint, "Bentham"), (round_robin, "round robin")], key=lambda pair: pair[0]
        )
        if early == late:
            lines.append(f"{what}both after {early:.1f} s.")
        else:
            times = f", {late / early:.1f} times as long" if early else ""
            lines.append(f"{what}{first} after {early:.1f} s, {second} after {late:.1f} s{times}.")
    return lines
