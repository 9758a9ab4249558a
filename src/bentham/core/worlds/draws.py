"""Worlds that may be: draws of every score and cost that is not known yet, from what is believed.

What is observed stays as it is. The other scores of a block are drawn together, so that models
that vary together do so in every draw: with W the rows that observing them next would add to the
posterior, and e standard normal,

    z = warp^-1( mean + scale * factor * e W )

where the factor, one for a block, is drawn from those that make the t distribution (`outlook`).
Costs are drawn from what is believed of them in the same way; those that studies gave and that
nobody doubts are as given.

The same generators give the same draws, and each is a stream of its own: with one more draw those
before it stay the same.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bentham.core.gaussian.validation import Integers, Matrix, Vector
from bentham.core.problem.study import LARGEST
from bentham.core.scheduler.scheduler import Scheduler
from bentham.core.state.arms import Status
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.worlds.cost_draws import draw_costs


class Draw:
    """What every arm scores and costs in one world."""

    def __init__(self, places: "_Places", scores: dict[int, Vector], costs: dict[int, Vector]):
        self._places, self._scores, self._costs = places, scores, costs

    def score(self, dataset: str, model: str) -> float:
        """What a trial of the arm yields."""
        order, columns = self._places.of(dataset)
        return float(self._scores[order][columns[model]])

    def cost(self, dataset: str, model: str) -> float:
        """How long a trial of the arm takes."""
        order, columns = self._places.of(dataset)
        return float(self._costs[order][columns[model]])

    def bests(self) -> dict[str, float]:
        """Of every study the highest score that it can find: of all it lists but what failed."""
        found = {}
        for study in self._places.state.studies.values():
            able = study.block.arms.status[study.columns] != Status.FAILED
            scores = self._scores[study.block.order][study.columns[able]]
            found[study.name] = float(scores.max(initial=-LARGEST))
        return found


def draw(scheduler: Scheduler, generators: Sequence[np.random.Generator]) -> list[Draw]:
    """One world for each generator, as far as studies that are served and trials that run go.

    Takes some milliseconds for a dataset with a hundred models to try; those of which nothing
    is known yet share most of that.
    """
    state = scheduler._state
    blocks = [block for block in state.blocks() if block.studies or block.arms.running()]
    scores: list[dict[int, Vector]] = [{} for _ in generators]
    costs: list[dict[int, Vector]] = [{} for _ in generators]
    known: dict[tuple[int, bytes], Matrix] = {}
    for block in blocks:
        drawn = _scores(block, generators, known)
        for place, (own, lasting) in enumerate(
            zip(drawn, draw_costs(state._costs, block, generators), strict=True)
        ):
            scores[place][block.order], costs[place][block.order] = own, lasting
        block.rest()
    places = _Places(state)
    return [Draw(places, own, lasting) for own, lasting in zip(scores, costs, strict=True)]


def open_columns(block: Block) -> Integers:
    """The arms that may still be observed: running, or listed and neither observed nor failed."""
    arms = block.arms
    untried = (arms.listers > 0) & (arms.status == Status.UNTRIED)
    return np.flatnonzero(untried | (arms.status == Status.RUNNING))


def _scores(
    block: Block,
    generators: Sequence[np.random.Generator],
    known: dict[tuple[int, bytes], Matrix],
) -> Matrix:
    """The scores of all arms of a block, one row for each generator."""
    columns, outlook = open_columns(block), block.belief.outlook
    key = id(block.prior), columns.tobytes()
    rows = None if block.belief.observed else known.get(key)
    if rows is None:
        rows = block.belief.posterior.ahead(columns)[:, columns]
        if not block.belief.observed:
            known[key] = rows
    chances = np.array([generator.random() for generator in generators])
    normal = np.array([generator.standard_normal(len(columns)) for generator in generators])
    moved = outlook.drawn(chances, normal, rows)
    drawn = outlook.warp.inverse(outlook.mean[columns] + moved)
    scores: Matrix = np.tile(block.belief.score, (len(generators), 1))
    scores[:, columns] = np.clip(drawn, -LARGEST, LARGEST)
    return scores


class _Places:
    """Where the arm of a dataset and a model is."""

    def __init__(self, state: State):
        self.state = state
        self._known: dict[str, tuple[int, Mapping[str, int]]] = {}

    def of(self, dataset: str) -> tuple[int, Mapping[str, int]]:
        """The order of the dataset's block, and the columns of its models."""
        found = self._known.get(dataset)
        if found is None:
            prior = self.state.prior
            order = self.state._blocks[prior.block_key(dataset)].order
            found = self._known[dataset] = order, prior.columns(dataset)
        return found
