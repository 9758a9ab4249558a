"""Random draws of the costs of arms, from the belief about costs: see `draws`."""

import math
from collections.abc import Sequence

import numpy as np

from bentham.core.costs.cache import CostQuery
from bentham.core.costs.learned import CostModel
from bentham.core.costs.predict import (
    FIRST_DEVIATION,
    LARGEST_DEVIATION,
    CostBelief,
)
from bentham.core.gaussian.predictive import Outlook
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.problem.study import LARGEST, SMALLEST_COST
from bentham.core.state.blocks import Block
from bentham.core.state.listed_costs import Listing

_LOWEST, _HIGHEST = math.log(SMALLEST_COST), math.log(LARGEST)


def draw_costs(costs: CostModel, block: Block, generators: Sequence[np.random.Generator]) -> Matrix:
    """Return costs of all arms of a block, one row per generator."""
    drawn: Matrix = np.tile(block.costs.expected, (len(generators), 1))
    for listing in block.costs.listings:
        if not (costs.corrects or listing.undeclared):
            continue
        belief = costs.belief(listing.dataset)
        if belief.prior is None or listing.cost_columns is not None:
            # Otherwise its studies have just changed: expected costs are used until the next event.
            drawn[:, listing.columns] = _drawn(costs, belief, block, listing, generators)
    return drawn


def _drawn(
    costs: CostModel,
    belief: CostBelief,
    block: Block,
    listing: Listing,
    generators: Sequence[np.random.Generator],
) -> Matrix:
    """Return costs of the listed models; declared costs are as accurate as they have proved."""
    declared = block.costs.declared[listing.columns]
    expected = block.costs.expected[listing.columns]
    mean, deviation, logs = _predicted(costs, belief, listing, generators)
    normal = np.array([generator.standard_normal(len(declared)) for generator in generators])
    undeclared = np.isnan(declared)
    if belief.error is None:
        logs[:, ~undeclared] = np.log(declared[~undeclared])
    else:  # as in `expected_costs`: both, each weighted by its accuracy
        variance = np.maximum(deviation * deviation, 1e-12)
        total = variance + belief.error
        combined = ((np.log(declared) + belief.bias) * variance + mean * belief.error) / total
        spread = np.sqrt(variance * belief.error / total)
        logs[:, ~undeclared] = (combined + spread * normal)[:, ~undeclared]
    if belief.prior is None:  # around the scheduler's guess, which differs between datasets
        guess = np.log(expected[undeclared]) - 0.5 * FIRST_DEVIATION**2
        logs[:, undeclared] = guess + FIRST_DEVIATION * normal[:, undeclared]
    drawn: Matrix = np.exp(np.clip(logs, _LOWEST, _HIGHEST))
    return drawn


def _predicted(
    costs: CostModel,
    belief: CostBelief,
    listing: Listing,
    generators: Sequence[np.random.Generator],
) -> tuple[Vector, Vector, Matrix]:
    """Return the mean and standard deviation of every log cost, and joint draws of all of them."""
    count = len(listing.columns)
    columns = listing.cost_columns
    if belief.prior is None or columns is None:
        return np.zeros(count), np.full(count, FIRST_DEVIATION), np.zeros((len(generators), count))
    posterior = costs.posterior(CostQuery(belief.dataset, belief.prior, belief.logs))
    outlook = Outlook.of(posterior, belief.prior)
    varied = columns[posterior.variance[columns] > 0.0]
    rows = posterior.ahead(varied)[:, columns]
    chances = np.array([generator.random() for generator in generators])
    normal = np.array([generator.standard_normal(len(varied)) for generator in generators])
    sigma = outlook.sigma[columns]
    # Above this deviation, expected costs are meaningless: the scheduler limits it, too.
    bounded = np.minimum(1.0, LARGEST_DEVIATION / np.maximum(sigma, LARGEST_DEVIATION))
    moved = outlook.drawn(chances, normal, rows)
    mean = outlook.mean[columns]
    return mean, np.minimum(sigma, LARGEST_DEVIATION), mean + bounded * moved
