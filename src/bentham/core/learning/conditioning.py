"""Condition many datasets at once under one Gaussian: App. A, row by row, over a batch.

symbol      shape                      meaning
rows W      (datasets, depth, models)  as in `posterior`: the Cholesky factor, over all models
innovation  (datasets, depth)          u_j = (y_j - E[y_j | y_1..y_{j-1}]) / sigma_j: the residuals
                                       solved with the factor; |u|^2 is the squared Mahalanobis
                                       distance
sigma       (datasets, depth)          sigma_j, the standard deviation of y_j given y_1..y_{j-1}
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.learning.data import Batch

# A conditional variance below this share of the variance is rounding error: the score was known.
RESOLUTION = 1e-10


class ConditionedBatch(NamedTuple):
    """Rows, innovations and sigmas of a batch; 0 in the padding and for scores known already."""

    rows: npt.NDArray[np.float64]
    innovation: Matrix
    sigma: Matrix


def condition(batch: Batch, scores: Matrix, mean: Vector, covariance: Matrix) -> ConditionedBatch:
    """Condition each dataset of the batch on its scores, under one mean and covariance."""
    datasets, depth = batch.model.shape
    every = np.arange(datasets)
    rows = np.zeros((datasets, depth, len(mean)))
    innovation, sigma = np.zeros((datasets, depth)), np.zeros((datasets, depth))
    for turn in range(depth):
        model = batch.model[:, turn]
        before = rows[every, :turn, model]
        row = covariance[model] - contract("bi,bim->bm", before, rows[:, :turn])
        variance = row[every, model]
        new = batch.live[:, turn] & (variance > RESOLUTION * covariance[model, model])
        deviation = np.sqrt(np.where(new, variance, 1.0))
        rows[:, turn] = np.where(new[:, np.newaxis], row / deviation[:, np.newaxis], 0.0)
        expected = mean[model] + contract("bi,bi->b", before, innovation[:, :turn])
        innovation[:, turn] = np.where(new, (scores[:, turn] - expected) / deviation, 0.0)
        sigma[:, turn] = np.where(new, deviation, 0.0)
    return ConditionedBatch(rows, innovation, sigma)


def innovations(
    covariance: npt.NDArray[np.float64], residual: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], Matrix]:
    """Return innovations and standard deviations if every dataset has its own covariance.

    `covariance` is (depth, depth, datasets) and `residual` (..., depth, datasets): several
    residuals of one dataset are solved with one factor. `depth` runs over observations in order.
    """
    depth = len(covariance)
    left, innovation = covariance.copy(), residual.copy()
    scale = RESOLUTION * contract("iib->ib", covariance)
    sigma = np.zeros(covariance.shape[1:])
    for turn in range(depth):
        variance = left[turn, turn]
        new = variance > scale[turn]
        sigma[turn] = np.sqrt(np.where(new, variance, 1.0))
        below = np.where(new, left[turn + 1 :, turn] / sigma[turn], 0.0)
        innovation[..., turn, :] = np.where(new, innovation[..., turn, :] / sigma[turn], 0.0)
        left[turn + 1 :, turn + 1 :] -= below[:, np.newaxis] * below
        innovation[..., turn + 1 :, :] -= below * innovation[..., turn, np.newaxis, :]
        sigma[turn] = np.where(new, sigma[turn], 0.0)
    return innovation, sigma


def regression(covariance: Matrix, known: int, noise: float) -> tuple[Matrix, Matrix]:
    """Regress the later variables of a Gaussian on the first `known` ones, observed with noise.

    Returns the weights A, one row per later variable, and the covariance of the residuals:
    A = K_lk (K_kk + noise I)^-1 and K_ll - A K_kl.
    """
    cross = covariance[known:, :known]
    inner = covariance[:known, :known] + noise * np.eye(known)
    solved, _ = innovations(
        inner[..., np.newaxis], np.concatenate([cross, np.eye(known)])[..., np.newaxis]
    )
    later, root = solved[: len(cross), :, 0], solved[len(cross) :, :, 0]
    weights = contract("li,ki->lk", later, root)
    left = covariance[known:, known:] - contract("li,mi->lm", later, later)
    return weights, left
