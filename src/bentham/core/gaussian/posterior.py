"""Exact, noise-free conditioning of one block, one row per observation (App. A).

    symbol  shape      meaning
    W       (n, arms)  W[i] = k_{i}(x_{i+1}, .) / sigma_{i}(x_{i+1}): the transposed Cholesky
                       factor of K_t, extended over all arms of the block
    mean    (arms,)    mu_t(x)
    variance(arms,)    sigma_t(x)^2 = k_t(x, x)

Observing x with score z adds one row; the factor is never recomputed:

    w = (k(x, .) - W[:, x]^T W) / sigma(x),  mean += w (z - mean[x]) / sigma(x),  variance -= w^2

The sum over rows runs in a fixed order in plain IEEE additions and multiplications, without
BLAS: its result does not depend on the processor, the number of threads or the library build.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Integers, Matrix, Vector

FIRST_ROWS = 4
# Rows are multiplied this many entries at a time, so that the products fit the CPU cache.
CHUNK_ENTRIES = 1 << 16


class Posterior:
    """A Gaussian over the arms of a block, conditioned on the observed scores."""

    __slots__ = ("_prior", "_rows", "count", "distance", "mean", "shared", "variance")

    def __init__(self, prior: BlockPrior):
        self._prior = prior
        self._rows = np.zeros((min(FIRST_ROWS, prior.size), prior.size))
        self.count = 0  # observations that added information
        self.distance = 0.0  # their squared Mahalanobis distance from the prior mean
        self.shared = False  # whether another object refers to it: copy before changing it
        self.mean: Vector = prior.mean.copy()
        self.variance: Vector = prior.variance.copy()

    def copy(self) -> "Posterior":
        """Return an independent copy, which can be conditioned separately."""
        made = Posterior.__new__(Posterior)
        made._prior, made.shared = self._prior, False
        made._rows, made.count, made.distance = self._rows.copy(), self.count, self.distance
        made.mean, made.variance = self.mean.copy(), self.variance.copy()
        return made

    @property
    def scale(self) -> float:
        """Spread of the block's scores relative to the prior: see `predictive`."""
        freedom = self._prior.freedom
        if not math.isfinite(freedom):
            return 1.0
        return math.sqrt((freedom + self.distance) / (freedom + self.count))

    @property
    def rows(self) -> Matrix:
        """W, (n, arms)."""
        rows: Matrix = self._rows[: self.count]
        return rows

    def observe(self, column: int, score: float) -> None:
        """Condition on one arm's score."""
        variance = self.variance[column]
        # With sigma = 0 the score was known already: it adds no information about other arms.
        if variance > 0.0:
            sigma = float(np.sqrt(variance))
            row = self.covariance(column)
            row /= sigma
            self._append(row)
            surprise = (score - self.mean[column]) / sigma
            self.distance += float(surprise * surprise)
            self.mean += row * surprise
            self.variance -= row * row
            self.variance *= self.variance >= self._prior.resolution  # less is rounding
        self.mean[column] = score
        self.variance[column] = 0.0

    def covariance(self, column: int) -> Vector:
        """Return k_t(x, .): the posterior covariance of one arm with every arm of the block."""
        covariance = self._prior.row(column).copy()
        chunk = max(1, CHUNK_ENTRIES // self._prior.size)
        for start in range(0, self.count, chunk):
            rows = self._rows[start : min(start + chunk, self.count)]
            covariance -= np.add.reduce(rows * rows[:, column, np.newaxis], axis=0)
        covariance *= self.variance > 0.0  # a known score does not vary
        return covariance

    def ahead(self, columns: Integers) -> Matrix:
        """Return the rows that observing these columns next would add to W.

        They are a Cholesky factor of the columns' covariance. A row is zero if the earlier columns
        determine its column.
        """
        rows = np.zeros((len(columns), self._prior.size))
        for turn, column in enumerate(columns):
            before = rows[:turn]
            row = self.covariance(int(column)) - contract("r,rm->m", before[:, column], before)
            if row[column] > self._prior.resolution[column]:
                rows[turn] = row / math.sqrt(row[column])
        return rows

    def _append(self, row: Vector) -> None:
        if self.count == len(self._rows):
            capacity = min(max(FIRST_ROWS, 2 * self.count), self._prior.size)
            grown = np.zeros((capacity, self._prior.size))
            grown[: self.count] = self._rows
            self._rows = grown
        self._rows[self.count] = row
        self.count += 1


@dataclass(slots=True)
class Conditioned:
    """Several posteriors under one prior.

    name      shape                meaning
    mean      (blocks, arms)       as in Posterior, one row per block
    variance  (blocks, arms)
    distance  (blocks,)
    count     (blocks,)
    rows      (blocks, most, arms) W; entries beyond a block's count are not set
    """

    prior: BlockPrior
    mean: Matrix
    variance: Matrix
    distance: Vector
    count: Integers
    rows: npt.NDArray[np.float64]
    _apart: dict[int, Posterior] = field(default_factory=dict)

    def posterior(self, place: int) -> Posterior:
        """Return one of the posteriors; it can be conditioned further."""
        if place in self._apart:
            return self._apart[place]
        posterior = Posterior.__new__(Posterior)
        posterior._prior, posterior.shared = self.prior, False
        posterior.count = int(self.count[place])
        posterior._rows = self.rows[place, : posterior.count]
        posterior.distance = float(self.distance[place])
        posterior.mean, posterior.variance = self.mean[place], self.variance[place]
        return posterior

    def scales(self) -> Vector:
        """Return the scale of each posterior."""
        freedom = self.prior.freedom
        if not math.isfinite(freedom):
            return np.ones(len(self.mean))
        scales: Vector = np.sqrt((freedom + self.distance) / (freedom + self.count))
        return scales

    def sigma(self) -> Matrix:
        """Return the standard deviation of every arm of each posterior, times its scale."""
        return np.sqrt(self.variance) * self.scales()[:, np.newaxis]


def condition(
    prior: BlockPrior, columns: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]
) -> Conditioned:
    """Condition several blocks with the same prior at once, each on its own columns and scores.

    Performs the operations of `Posterior.observe` in the same order, so that results are identical
    to the last bit; numpy processes many blocks per call.
    """
    blocks, arms = len(columns), prior.size
    counts = np.array([len(own) for own in columns], dtype=np.int64)
    order = np.argsort(-counts, kind="stable")  # blocks with the most scores first
    most = int(counts[order[0]]) if blocks else 0
    known = Conditioned(
        prior,
        np.tile(prior.mean, (blocks, 1)),
        np.tile(prior.variance, (blocks, 1)),
        np.zeros(blocks),
        counts,
        np.empty((blocks, most, arms)),
    )
    # With one arm, or more rows than one chunk, numpy would sum in another order.
    if arms == 1 or most > max(1, CHUNK_ENTRIES // arms):
        separate = set(range(blocks))
    else:
        separate = _condition_sorted(known, [columns[i] for i in order], [scores[i] for i in order])
        back = np.argsort(order, kind="stable")
        for name in ("mean", "variance", "distance", "rows"):
            setattr(known, name, getattr(known, name)[back])
        separate = {int(order[place]) for place in separate}
    for place in separate:
        posterior = Posterior(prior)
        for column, score in zip(columns[place], scores[place], strict=True):
            posterior.observe(column, score)
        known._apart[place] = posterior
        known.mean[place], known.variance[place] = posterior.mean, posterior.variance
        known.distance[place], known.count[place] = posterior.distance, posterior.count
    return known


def _condition_sorted(
    known: Conditioned, columns: list[Sequence[int]], scores: list[Sequence[float]]
) -> set[int]:
    """Condition blocks that are sorted by their number of scores, largest first.

    Returns the blocks that have a score that was known already: they must be conditioned one by
    one.
    """
    prior, rows = known.prior, known.rows
    depth = rows.shape[1]
    flat = [column for own in columns for column in own]
    needed = sorted(set(flat))
    table = np.array([prior.row(column) for column in needed]).reshape(-1, prior.size)
    place_of = {column: place for place, column in enumerate(needed)}
    separate: set[int] = set()
    active = len(columns)
    for turn in range(depth):
        while len(columns[active - 1]) <= turn:
            active -= 1
        every = np.arange(active)
        column = np.array([columns[place][turn] for place in range(active)])
        score = np.array([scores[place][turn] for place in range(active)])
        mean, variance = known.mean[:active], known.variance[:active]
        own = variance[every, column]
        if not own.min() > 0.0:
            separate.update(np.flatnonzero(~(own > 0.0)).tolist())
            own = np.where(own > 0.0, own, 1.0)
        sigma = np.sqrt(own)
        row = table[[place_of[c] for c in column.tolist()]]
        if turn:
            before = rows[:active, :turn]
            products = before * before[every, :, column][:, :, np.newaxis]
            row -= np.add.reduce(products, axis=1)
        row *= variance > 0.0
        row /= sigma[:, np.newaxis]
        rows[:active, turn] = row
        surprise = (score - mean[every, column]) / sigma
        known.distance[:active] += surprise * surprise
        mean += row * surprise[:, np.newaxis]
        variance -= row * row
        variance *= variance >= prior.resolution
        mean[every, column] = score
        variance[every, column] = 0.0
    return separate
