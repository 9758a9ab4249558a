"""The structured target of the covariance, fitted by maximum likelihood.

    T = v (rho 11' + (1 - rho) ((1 - lambda) I + lambda R(l)))

    symbol    meaning
    v         the common variance of all models
    rho       the common correlation of all pairs of models: a study is easy or hard
    lambda    the share of the rest that varies smoothly with the models' features; 0 without
    R(l)      a Matern 5/2 correlation over the features, with one length scale per group of them;
              features are given with the prior (`Features`) or with studies (`Kinship`)

The likelihood is that of a sample of studies, each a multivariate t around the current mean; v is
profiled out. The search changes one parameter at a time, starting from the last fit. It needs few
evaluations; each is a batched factorisation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import gammaln

from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.learning.conditioning import innovations
from bentham.core.learning.data import Batch, Index

# Pairs of models, by their numbers; empty: all pairs.
Where: TypeAlias = tuple[Index, Index] | tuple[()]

CORRELATIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95)
SMOOTHNESSES = (0.0, 0.3, 0.6, 0.9, 0.99, 0.9999, 0.999999)
LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# A fit may change a length scale by one of these factors.
STEPS = (0.5, 0.8, 0.93, 1.08, 1.25, 2.0)


class Likeness(Protocol):
    """The interface of a similarity between models."""

    @property
    def groups(self) -> int:
        """Number of length scales."""

    @property
    def lengths(self) -> tuple[float, ...]:
        """Length scales that every fit tries, whatever the last fit; the best guess first."""

    def correlation(self, lengths: tuple[float, ...], where: Where = ()) -> Matrix:
        """Return the correlation of models for the length scales: all pairs, or some."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features of the models: one row per model, each feature scaled to the range from 0 to 1.

    Features of one group, such as the indicators of families, share a length scale.
    """

    values: Matrix
    group: tuple[int, ...]

    @property
    def groups(self) -> int:
        """Number of length scales."""
        return 1 + max(self.group)

    @property
    def lengths(self) -> tuple[float, ...]:
        """Empty: a fit starts from the length scales of the last one."""
        return ()

    def correlation(self, lengths: tuple[float, ...], where: Where = ()) -> Matrix:
        """Return the correlation of models for the length scales: all pairs, or some."""
        own = np.array([lengths[group] for group in self.group])
        chosen: Matrix = correlation("matern52", self.values, own)[where]
        return chosen


@dataclass(frozen=True, slots=True)
class Target:
    """The parameters of the target, except the variance."""

    correlation: float = 0.5
    smoothness: float = 0.0
    lengths: tuple[float, ...] = field(default=())

    def matrix(self, models: int, likeness: Likeness | None) -> Matrix:
        """Return the target with variance 1."""
        return self.entries(np.eye(models), likeness)

    def entries(self, same: Matrix, likeness: Likeness | None, where: Where = ()) -> Matrix:
        """Return target entries with variance 1; `same` is 1 for pairs of a model with itself."""
        own = same
        if likeness is not None and self.smoothness > 0.0:
            smooth = likeness.correlation(self.lengths, where)
            own = (1.0 - self.smoothness) * same + self.smoothness * smooth
        return self.correlation + (1.0 - self.correlation) * own


def fit_target(
    sample: Batch,
    mean: Vector,
    likeness: Likeness | None,
    start: Target,
    freedom: float,
    guess: float,
) -> tuple[Target, float]:
    """Return the most likely target and its variance; the guess of it counts as one score."""
    model, live = sample.model.T, sample.live.T
    where = model[:, np.newaxis], model
    pair, same = live[:, np.newaxis] & live, (model[:, np.newaxis] == model).astype(np.float64)
    identity = np.eye(len(model))[:, :, np.newaxis]
    residual = np.where(live, sample.score.T - mean[model], 0.0)
    count = live.sum(axis=0).astype(np.float64)
    seen: dict[Target, tuple[float, float]] = {}

    def likelihood(target: Target) -> float:
        if target not in seen:
            known = target.entries(same, likeness, where)
            innovation, sigma = innovations(np.where(pair, known, identity), residual)
            distance = contract("ib,ib->b", innovation, innovation)
            variance = _variance(distance, count, freedom, guess)
            logs = np.where(live & (sigma > 0.0), np.log(np.where(sigma > 0.0, sigma, 1.0)), 0.0)
            density = (
                gammaln((freedom + count) / 2.0)
                - gammaln(freedom / 2.0)
                - 0.5 * count * np.log(freedom * variance)
                - 0.5 * (freedom + count) * np.log1p(distance / (freedom * variance))
            )
            prior = -0.5 * (np.log(variance) + guess / variance)
            seen[target] = float(density.sum() - logs.sum() + prior), variance
        return seen[target][0]

    best = start
    if likeness is not None and not start.lengths:
        groups = likeness.groups
        # max returns the first of equals: a best guess is kept until the data contradict it.
        guess_first = (start.correlation,) if likeness.lengths else ()
        best = max(
            (
                replace(start, correlation=rho, smoothness=share, lengths=(length,) * groups)
                for length in (*likeness.lengths, *LENGTHS)
                for share in SMOOTHNESSES[2::2]
                for rho in (*guess_first, *CORRELATIONS[:5:2])
            ),
            key=likelihood,
        )
    best = _better(best, likelihood, lambda t: [replace(t, correlation=x) for x in CORRELATIONS])
    if likeness is not None:
        for group in range(len(best.lengths)):
            best = _better(best, likelihood, lambda t, g=group: _lengths(t, g, likeness.lengths))  # type: ignore[misc]
        best = _better(best, likelihood, lambda t: [replace(t, smoothness=x) for x in SMOOTHNESSES])
    likelihood(best)
    return best, seen[best][1]


def _better(
    best: Target, likelihood: Callable[[Target], float], options: Callable[[Target], list[Target]]
) -> Target:
    return max([best, *options(best)], key=likelihood)


def _lengths(target: Target, group: int, others: tuple[float, ...]) -> list[Target]:
    before, length, after = (
        target.lengths[:group],
        target.lengths[group],
        target.lengths[group + 1 :],
    )
    moved = [*(min(max(length * step, 1e-3), 1e2) for step in STEPS), *others]
    return [replace(target, lengths=(*before, other, *after)) for other in moved]


def _variance(distance: Vector, count: Vector, freedom: float, guess: float) -> float:
    """Return the most likely variance of t distributions with these squared distances."""
    variance = guess
    for _ in range(10):
        weight = (freedom + count) / (freedom + distance / variance)
        variance = float(((weight * distance).sum() + guess) / (count.sum() + 1.0))
    return variance
