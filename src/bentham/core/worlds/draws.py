"""Random draws of all unknown scores and costs from the current beliefs; one draw is a world.

Observed scores stay as they are. The other scores of a block are drawn jointly, so that correlated
models vary together in every draw: with W the rows that observing them next would add to the
posterior, and e standard normal,

    z = warp^-1( mean + scale * factor * e W )

where the factor, one per block, is drawn from the factors of the t distribution (`Outlook`).
Costs are drawn from their beliefs in the same way. Declared costs that are not corrected are used
unchanged.

The same generators give the same draws. Each draw has its own generator: another draw does not
change the others.
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
    """The score and cost of every arm in one world."""

    def __init__(self, places: "_Places", scores: dict[int, Vector], costs: dict[int, Vector]):
        self._places, self._scores, self._costs = places, scores, costs

    def score(self, dataset: str, model: str) -> float:
        """Return the score of a trial of the arm."""
        order, columns = self._places.of(dataset)
        return float(self._scores[order][columns[model]])

    def cost(self, dataset: str, model: str) -> float:
        """Return the cost of a trial of the arm."""
        order, columns = self._places.of(dataset)
        return float(self._costs[order][columns[model]])

    def bests(self) -> dict[str, float]:
        """Return the highest score that each study can find, over its arms that have not failed."""
        found = {}
        for study in self._places.state.studies.values():
            possible = study.block.arms.status[study.columns] != Status.FAILED
            scores = self._scores[study.block.order][study.columns[possible]]
            found[study.name] = float(scores.max(initial=-LARGEST))
        return found


def draw(scheduler: Scheduler, generators: Sequence[np.random.Generator]) -> list[Draw]:
    """Draw one world per generator, for the studies being served and the running trials.

    Takes some milliseconds for a dataset with a hundred untried models; datasets without
    observations share most of this work.
    """
    state = scheduler._state
    blocks = [block for block in state.blocks() if block.studies or block.arms.running()]
    scores: list[dict[int, Vector]] = [{} for _ in generators]
    costs: list[dict[int, Vector]] = [{} for _ in generators]
    known: dict[tuple[int, bytes], Matrix] = {}
    for block in blocks:
        drawn = _scores(block, generators, known)
        for index, (block_scores, block_costs) in enumerate(
            zip(drawn, draw_costs(state._costs, block, generators), strict=True)
        ):
            scores[index][block.order], costs[index][block.order] = block_scores, block_costs
        block.release_if_done()
    places = _Places(state)
    return [Draw(places, *world) for world in zip(scores, costs, strict=True)]


def open_columns(block: Block) -> Integers:
    """Return the columns of arms that may still be observed: running, or listed and untried."""
    arms = block.arms
    untried = (arms.listers > 0) & (arms.status == Status.UNTRIED)
    return np.flatnonzero(untried | (arms.status == Status.RUNNING))


def _scores(
    block: Block,
    generators: Sequence[np.random.Generator],
    known: dict[tuple[int, bytes], Matrix],
) -> Matrix:
    """Return scores of all arms of a block, one row per generator."""
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
    """Finds the block and column of an arm by its dataset and model."""

    def __init__(self, state: State):
        self.state = state
        self._known: dict[str, tuple[int, Mapping[str, int]]] = {}

    def of(self, dataset: str) -> tuple[int, Mapping[str, int]]:
        """Return the order of the dataset's block, and the columns of its models."""
        found = self._known.get(dataset)
        if found is None:
            prior = self.state.prior
            order = self.state._blocks[prior.block_key(dataset)].order
            found = self._known[dataset] = order, prior.columns(dataset)
        return found
