"""Exact, noise-free conditioning of one block, one row per observation (App. A).

    symbol  shape      meaning
    W       (n, arms)  W[i] = k_{i}(x_{i+1}, .) / sigma_{i}(x_{i+1}): the transposed Cholesky
                       factor of K_t, extended over all arms of the block
    mean    (arms,)    mu_t(x)
    variance(arms,)    sigma_t(x)^2 = k_t(x, x)

Observing x with score z adds one row (it is never refactorised):

    w = (k(x, .) - W[:, x]^T W) / sigma(x),  mean += w (z - mean[x]) / sigma(x),  variance -= w^2

The sum over rows runs in a fixed order in plain IEEE additions and multiplications, not through
BLAS: its result does not depend on the processor, the number of threads or the library build.
"""

import numpy as np

from bentham.core.prior import BlockPrior
from bentham.core.validation import Vector

FIRST_ROWS = 4
# Rows are multiplied this many entries at a time, so that the products stay in the cache.
CHUNK_ENTRIES = 1 << 16


class Posterior:
    """A Gaussian over the arms of a block, given what was observed there."""

    __slots__ = ("_prior", "_rows", "count", "distance", "mean", "variance")

    def __init__(self, prior: BlockPrior):
        self._prior = prior
        self._rows = np.empty((min(FIRST_ROWS, prior.size), prior.size))
        self.count = 0  # observations that taught something
        self.distance = 0.0  # their squared Mahalanobis distance from the prior mean
        self.mean: Vector = prior.mean.copy()
        self.variance: Vector = prior.variance.copy()

    def observe(self, column: int, score: float) -> None:
        """Condition on one arm's score."""
        variance = self.variance[column]
        # With sigma = 0 the score was known already: it teaches nothing about other arms.
        if variance > 0.0:
            sigma = float(np.sqrt(variance))
            row = self.covariance(column)
            row /= sigma
            self._append(row)
            surprise = (score - self.mean[column]) / sigma
            self.distance += float(surprise * surprise)
            self.mean += row * surprise
            self.variance -= row * row
            self.variance *= self.variance >= self._prior.resolution  # below, it is rounding
        self.mean[column] = score
        self.variance[column] = 0.0

    def covariance(self, column: int) -> Vector:
        """k_t(x, .): the posterior covariance of one arm with every arm of the block."""
        covariance = self._prior.row(column).copy()
        chunk = max(1, CHUNK_ENTRIES // self._prior.size)
        for start in range(0, self.count, chunk):
            rows = self._rows[start : min(start + chunk, self.count)]
            covariance -= np.add.reduce(rows * rows[:, column, np.newaxis], axis=0)
        covariance *= self.variance > 0.0  # what is known varies with nothing
        return covariance

    def _append(self, row: Vector) -> None:
        if self.count == len(self._rows):
            capacity = min(2 * self.count, self._prior.size)
            grown = np.empty((capacity, self._prior.size))
            grown[: self.count] = self._rows
            self._rows = grown
        self._rows[self.count] = row
        self.count += 1
