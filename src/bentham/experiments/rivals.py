"""Baseline policies that only the experiments use: other forms of round robin.

`Alone` is the strongest external baseline: it tunes every study separately, as single-study tuners
do. Each study has its own Gaussian process over the features of the models, with a Matern 5/2
kernel and the maximum-likelihood length scale, fitted to the study's own standardised scores. The
policy picks the model with the highest expected improvement per cost and serves studies in turn.
"""

import numpy as np

from bentham.core.gaussian.acquisition import expected_improvement
from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.policies import PolicyMaker, RoundRobin
from bentham.core.state.arms import Status
from bentham.core.state.study_state import StudyState

LENGTHS = np.geomspace(0.02, 3.0, 24)
JITTER = 1e-6


class RoundRobinByRate(RoundRobin):
    """Another reading of the paper's round robin: a study's model by EI per cost, not by EI."""

    name = "round-robin-rate"

    @classmethod
    def made(cls, seed: int) -> "RoundRobinByRate":  # noqa: ARG003
        """Return a policy; the seed is ignored."""
        return cls()

    def values(self, study: StudyState) -> Vector:
        """Return the study's EI rates."""
        return super().values(study) / study.costs


class Alone(RoundRobin):
    """Round robin with a separate Gaussian process per study: studies do not share knowledge."""

    name = "alone"

    def __init__(self, features: Matrix):
        span = np.ptp(features, axis=0)
        scaled = features / np.where(span > 0.0, span, 1.0)
        self._matrices = np.array([correlation("matern52", scaled, length) for length in LENGTHS])

    @classmethod
    def knowing(cls, features: Matrix) -> PolicyMaker:
        """Return a policy maker for these features; the seed is ignored."""
        return lambda _: cls(features)

    def values(self, study: StudyState) -> Vector:
        """Return EI per cost under the study's own Gaussian process."""
        return self._gains(study) / study.costs

    def _gains(self, study: StudyState) -> Vector:
        block, columns = study.block, study.columns
        observed = columns[block.arms.status[columns] == Status.OBSERVED]
        if not len(observed):
            return np.ones(len(columns))
        scores = block.belief.score[observed]
        centre, spread = float(scores.mean()), float(scores.std())
        spread = spread if spread > 0.0 else 1.0
        values = (scores - centre) / spread
        covariances = self._matrices[:, observed[:, np.newaxis], observed] + JITTER * np.eye(
            len(observed)
        )
        factor = np.linalg.cholesky(covariances)
        whitened = np.linalg.solve(
            factor, np.broadcast_to(values[:, np.newaxis], (len(LENGTHS), len(observed), 1))
        )[..., 0]
        # The maximum-likelihood variance in closed form; the profile likelihood picks the length.
        variance = np.maximum((whitened**2).mean(axis=1), 1e-12)
        likelihood = -0.5 * len(observed) * np.log(variance) - np.log(
            np.diagonal(factor, axis1=1, axis2=2)
        ).sum(axis=1)
        best = int(likelihood.argmax())
        scale = 1.0 if len(observed) == 1 else float(variance[best])
        rows = np.linalg.solve(factor[best], self._matrices[best][observed[:, np.newaxis], columns])
        mean = rows.T @ whitened[best]
        sigma = np.sqrt(scale * np.maximum(1.0 + JITTER - (rows**2).sum(axis=0), 0.0))
        return expected_improvement(mean, sigma, (study.incumbent - centre) / spread)
