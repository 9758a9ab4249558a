"""Draws of what arms will cost, from what is believed of costs: see `draws`."""

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
    """The costs of all arms of a block, one row for each generator."""
    drawn: Matrix = np.tile(block.costs.expected, (len(generators), 1))
    for listing in block.costs.listings:
        if not (costs.doubts or listing.unsaid):
            continue
        belief = costs.belief(listing.dataset)
        if belief.prior is None or listing.cost_columns is not None:
            # Else its studies have just changed, and until the next event it is as expected.
            drawn[:, listing.columns] = _drawn(costs, belief, block, listing, generators)
    return drawn


def _drawn(
    costs: CostModel,
    belief: CostBelief,
    block: Block,
    listing: Listing,
    generators: Sequence[np.random.Generator],
) -> Matrix:
    """What the models of one dataset cost; what is said is right about as often as it has been."""
    said, expected = block.costs.said[listing.columns], block.costs.expected[listing.columns]
    mean, deviation, logs = _predicted(costs, belief, listing, generators)
    own = np.array([generator.standard_normal(len(said)) for generator in generators])
    unsaid = np.isnan(said)
    if belief.error is None:
        logs[:, ~unsaid] = np.log(said[~unsaid])
    else:  # as in `expected_costs`: both, each by how good it proved to be
        variance = np.maximum(deviation * deviation, 1e-12)
        total = variance + belief.error
        weighed = ((np.log(said) + belief.bias) * variance + mean * belief.error) / total
        spread = np.sqrt(variance * belief.error / total)
        logs[:, ~unsaid] = (weighed + spread * own)[:, ~unsaid]
    if belief.prior is None:  # as the scheduler guesses, which differs on every dataset
        guess = np.log(expected[unsaid]) - 0.5 * FIRST_DEVIATION**2
        logs[:, unsaid] = guess + FIRST_DEVIATION * own[:, unsaid]
    drawn: Matrix = np.exp(np.clip(logs, _LOWEST, _HIGHEST))
    return drawn


def _predicted(
    costs: CostModel,
    belief: CostBelief,
    listing: Listing,
    generators: Sequence[np.random.Generator],
) -> tuple[Vector, Vector, Matrix]:
    """The mean and the deviation of every log cost, and draws of all together."""
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
    # Wider than this, what is expected says nothing any more: the scheduler goes no further.
    bounded = np.minimum(1.0, LARGEST_DEVIATION / np.maximum(sigma, LARGEST_DEVIATION))
    moved = outlook.drawn(chances, normal, rows)
    mean = outlook.mean[columns]
    return mean, np.minimum(sigma, LARGEST_DEVIATION), mean + bounded * moved
