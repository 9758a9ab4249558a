"""The strongest rival outside: every study tuned alone, as tuners of one study do.

One Gaussian process per study over the features of the models, a Matern 5/2 kernel with the
likeliest length scale, fitted to the study's own scores (standardised); the model of highest
expected improvement per cost; studies served in turn.
"""

import bisect

import numpy as np

from bentham.core.acquisition import expected_improvement
from bentham.core.blocks import Block, Status, StudyState
from bentham.core.kernels import correlation
from bentham.core.policies import Option, PolicyMaker, rank_within
from bentham.core.state import State
from bentham.core.validation import Matrix, Vector

LENGTHS = np.geomspace(0.02, 3.0, 24)
JITTER = 1e-6


class Alone:
    """A policy that learns nothing from one study for another."""

    name = "alone"

    def __init__(self, features: Matrix):
        span = np.ptp(features, axis=0)
        scaled = features / np.where(span > 0.0, span, 1.0)
        self._matrices = np.array([correlation("matern52", scaled, length) for length in LENGTHS])

    @classmethod
    def knowing(cls, features: Matrix) -> PolicyMaker:
        """What makes one; the seed does not matter."""
        return lambda _: cls(features)

    def touch(self, block: Block) -> None:
        """Nothing is remembered."""

    def rank(self, state: State) -> list[Option]:
        """The next study after the one served last, its models by EI per cost."""
        orders = state.open_orders
        if not orders:
            return []
        study = state.by_order[orders[bisect.bisect_right(orders, state.cursor) % len(orders)]]
        return rank_within(study, self._gains(study) / study.costs)

    def _gains(self, study: StudyState) -> Vector:
        block, columns = study.block, study.columns
        seen = columns[block.status[columns] == Status.OBSERVED]
        if not len(seen):
            return np.ones(len(columns))
        scores = block.score[seen]
        centre, spread = float(scores.mean()), float(scores.std())
        spread = spread if spread > 0.0 else 1.0
        values = (scores - centre) / spread
        known = self._matrices[:, seen[:, np.newaxis], seen] + JITTER * np.eye(len(seen))
        factor = np.linalg.cholesky(known)
        weighed = np.linalg.solve(
            factor, np.broadcast_to(values[:, np.newaxis], (len(LENGTHS), len(seen), 1))
        )[..., 0]
        # The likeliest variance in closed form; what is left of the likelihood picks the length.
        variance = np.maximum((weighed**2).mean(axis=1), 1e-12)
        likelihood = -0.5 * len(seen) * np.log(variance) - np.log(
            np.diagonal(factor, axis1=1, axis2=2)
        ).sum(axis=1)
        best = int(likelihood.argmax())
        scale = 1.0 if len(seen) == 1 else float(variance[best])
        rows = np.linalg.solve(factor[best], self._matrices[best][seen[:, np.newaxis], columns])
        mean = rows.T @ weighed[best]
        sigma = np.sqrt(scale * np.maximum(1.0 + JITTER - (rows**2).sum(axis=0), 0.0))
        return expected_improvement(mean, sigma, (study.incumbent - centre) / spread)
