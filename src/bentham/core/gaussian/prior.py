"""Gaussian priors over the scores of arms, in three layouts.

    symbol      shape      meaning                                           paper
    mu          (arms,)    prior mean                                        mu(x)
    K           (arms,)^2  prior covariance, jitter included                 k(x, x')
    jitter      scalar     added to the diagonal of K; always explicit and recorded

Arms whose scores are correlated form a *block*. Blocks are independent, so an observation changes
one block only. A block consists of whole datasets:

    SharedPrior   every dataset is a block; all share one mean and covariance over models
                  (the paper's experiments)
    ProductPrior  cov((d, m), (d', m')) = similarity[d, d'] * covariance[m, m']; rows are computed
                  on demand, never the whole matrix ("similarity of users' datasets")
    JointPrior    mean and covariance over all arms, given directly (the paper's general case)

In the last two, datasets that are not linked by any covariance are in separate blocks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bentham.core.gaussian.validation import (
    Matrix,
    Vector,
    as_array,
    as_covariance,
    as_numbers,
    checked_jitter,
    unique_names,
)
from bentham.core.gaussian.warp import NO_WARP, Warp
from bentham.core.problem.study import Arm
from bentham.errors import InvalidPrior

# A posterior variance below this share of the prior variance is rounding error, not uncertainty.
RESOLUTION = 1e-12


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """The rows of a covariance matrix held in memory.

    A class, not a bound method, so that a snapshot can contain it; so are all sources of rows.
    """

    matrix: Matrix

    def __call__(self, column: int) -> Vector:
        """Return one row."""
        row: Vector = self.matrix[column]
        return row


@dataclass(frozen=True, slots=True)
class ProductRows:
    """The rows of a dataset similarity times a model covariance, computed on demand."""

    similarity: Matrix
    covariance: Matrix
    jitter: float

    def __call__(self, column: int) -> Vector:
        """Return one row."""
        dataset, model = divmod(column, len(self.covariance))
        values = np.outer(self.similarity[dataset], self.covariance[model]).ravel()
        values[column] += self.jitter
        return values


@dataclass(frozen=True, slots=True)
class BlockPrior:
    """The prior of one block: a Gaussian over its columns, one column per arm.

    A learned prior is over warped scores. It is a multivariate t with `freedom` degrees of
    freedom; a prediction of one score has at most `tail`. The defaults are the paper's Gaussian.
    """

    mean: Vector
    variance: Vector
    resolution: Vector
    model_rank: npt.NDArray[np.int64]
    in_model_order: bool
    row: Callable[[int], Vector]
    warp: Warp = NO_WARP
    freedom: float = math.inf
    tail: float = math.inf

    @staticmethod
    def of(
        mean: Vector,
        variance: Vector,
        model_rank: npt.NDArray[np.int64],
        row: Callable[[int], Vector],
        warp: Warp = NO_WARP,
        freedom: float = math.inf,
        tail: float = math.inf,
    ) -> "BlockPrior":
        """Return the prior of a block; negative variances from rounding are set to 0."""
        variance = np.maximum(variance, 0.0)
        in_order = bool(np.all(np.diff(model_rank) > 0))
        resolution = RESOLUTION * variance
        return BlockPrior(
            mean, variance, resolution, model_rank, in_order, row, warp, freedom, tail
        )

    @property
    def size(self) -> int:
        """Number of arms of the block."""
        return len(self.mean)


class Prior(Protocol):
    """The interface that a scheduler needs from a prior."""

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all models; ties go to the earlier one."""

    def block_key(self, dataset: str) -> str:
        """Return the key of the dataset's block; correlated datasets have the same block."""

    def block(self, key: str) -> BlockPrior:
        """Return the prior of the block with this key."""

    def columns(self, dataset: str) -> Mapping[str, int]:
        """Return the column in the dataset's block of each model covered on the dataset."""

    @property
    def jitter(self) -> float:
        """The number added to the diagonal of the covariance."""

    def describe(self) -> dict[str, Any]:
        """Return the prior as plain data; `prior_from` turns it back into a prior."""


class SharedPrior:
    """A prior of independent datasets that share one mean and covariance over models.

    Args:
        models: Names of the models, at least one; no duplicates.
        mean: Prior mean of each model's score, (models,).
        covariance: Prior covariance, (models, models); symmetric and positive semi-definite.
        jitter: Added to the diagonal of the covariance. Default: 0.

    Raises:
        InvalidPrior: A shape or value is invalid. The message names the entry and the remedy,
            e.g. how much to add to the diagonal to make the covariance positive semi-definite.
    """

    def __init__(
        self,
        models: Sequence[str],
        mean: npt.ArrayLike,
        covariance: npt.ArrayLike,
        jitter: float = 0.0,
    ):
        unique_names(models, "model")
        self.models = tuple(models)
        self.jitter = checked_jitter(jitter)
        self.mean = as_numbers(mean, (len(models),), "mean", "model")
        self.covariance = as_covariance(covariance, self.models, "covariance", "model")
        matrix = self.covariance + self.jitter * np.eye(len(models))
        self._columns = {model: column for column, model in enumerate(self.models)}
        self._block = BlockPrior.of(
            self.mean, np.diag(matrix).copy(), np.arange(len(models)), MatrixRows(matrix)
        )

    def block_key(self, dataset: str) -> str:
        """Return the dataset: every dataset is its own block."""
        return dataset

    def block(self, key: str) -> BlockPrior:  # noqa: ARG002 - the same for every dataset
        """Return the prior that all datasets share."""
        return self._block

    def columns(self, dataset: str) -> Mapping[str, int]:  # noqa: ARG002
        """Return the columns of all models: every dataset covers every model."""
        return self._columns

    def describe(self) -> dict[str, Any]:
        """Return the prior as plain data for `prior_from`."""
        return {
            "layout": "shared",
            "models": list(self.models),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "jitter": self.jitter,
        }


class ProductPrior:
    """A prior whose covariance is a similarity of datasets times a covariance of models.

    Args:
        datasets: Names of the datasets, at least one; no duplicates.
        similarity: Covariance between datasets, (datasets, datasets); symmetric and positive
            semi-definite.
        models: Names of the models, at least one; no duplicates.
        mean: Prior mean of the scores, (models,) for all datasets or (datasets, models).
        covariance: Covariance between models, (models, models); symmetric and positive
            semi-definite.
        jitter: Added to the diagonal of the product. Default: 0.

    Raises:
        InvalidPrior: A shape or value is invalid; the message names the entry and the remedy.
    """

    def __init__(
        self,
        datasets: Sequence[str],
        similarity: npt.ArrayLike,
        models: Sequence[str],
        mean: npt.ArrayLike,
        covariance: npt.ArrayLike,
        jitter: float = 0.0,
    ):
        unique_names(datasets, "dataset")
        unique_names(models, "model")
        self.datasets, self.models = tuple(datasets), tuple(models)
        self.jitter = checked_jitter(jitter)
        self.similarity = as_covariance(similarity, self.datasets, "similarity", "dataset")
        self.covariance = as_covariance(covariance, self.models, "covariance", "model")
        shape = (len(datasets), len(models))
        array = as_array(mean, "mean", "model")
        if array.shape == (len(models),):
            array = np.broadcast_to(array, shape)
        self.mean = as_numbers(array, shape, "mean", "dataset and model")
        self._groups = _Groups(self.datasets, self.similarity != 0)

    def block_key(self, dataset: str) -> str:
        """Return the first dataset of those linked to this one by similarity."""
        return self._groups.key(dataset)

    def block(self, key: str) -> BlockPrior:
        """Return the prior over the linked datasets; rows of it are computed on demand."""
        members = self._groups.members[key]
        similarity = self.similarity[np.ix_(members, members)]
        variance = np.outer(np.diag(similarity), np.diag(self.covariance)).ravel() + self.jitter
        rank = np.tile(np.arange(len(self.models)), len(members))
        rows = ProductRows(similarity, self.covariance, self.jitter)
        return BlockPrior.of(self.mean[members].ravel(), variance, rank, rows)

    def columns(self, dataset: str) -> Mapping[str, int]:
        """Return the columns of all models: every dataset of the prior covers every model."""
        start = self._groups.position(dataset) * len(self.models)
        return {model: start + column for column, model in enumerate(self.models)}

    def describe(self) -> dict[str, Any]:
        """Return the prior as plain data for `prior_from`."""
        return {
            "layout": "product",
            "datasets": list(self.datasets),
            "similarity": self.similarity.tolist(),
            "models": list(self.models),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "jitter": self.jitter,
        }


class JointPrior:
    """A prior given directly by a mean and a covariance over arms.

    Args:
        arms: The arms as (dataset, model) pairs, at least one; no duplicates.
        mean: Prior mean of each arm's score, (arms,).
        covariance: Prior covariance, (arms, arms); symmetric and positive semi-definite.
        jitter: Added to the diagonal of the covariance. Default: 0.

    Raises:
        InvalidPrior: A shape or value is invalid; the message names the entry and the remedy.
    """

    def __init__(
        self,
        arms: Sequence[tuple[str, str]],
        mean: npt.ArrayLike,
        covariance: npt.ArrayLike,
        jitter: float = 0.0,
    ):
        self.arms = tuple(Arm(*arm) for arm in arms)
        unique_names(self.arms, "arm")
        self.jitter = checked_jitter(jitter)
        self.mean = as_numbers(mean, (len(self.arms),), "mean", "arm")
        self.covariance = as_covariance(covariance, self.arms, "covariance", "arm")
        self.models = tuple(dict.fromkeys(arm.model for arm in self.arms))
        datasets = tuple(dict.fromkeys(arm.dataset for arm in self.arms))
        numbers = {dataset: number for number, dataset in enumerate(datasets)}
        self._dataset_of = np.array([numbers[arm.dataset] for arm in self.arms])
        linked = np.zeros((len(datasets), len(datasets)), dtype=bool)
        rows, columns = np.nonzero(self.covariance)
        linked[self._dataset_of[rows], self._dataset_of[columns]] = True
        self._groups = _Groups(datasets, linked)

    def block_key(self, dataset: str) -> str:
        """Return the first dataset of those linked to this one by covariance."""
        return self._groups.key(dataset)

    def block(self, key: str) -> BlockPrior:
        """Return the prior over the arms of the linked datasets, in the given order."""
        members = self._members(key)
        matrix: Matrix = self.covariance[np.ix_(members, members)]
        matrix = matrix + self.jitter * np.eye(len(members))
        ranks = {model: rank for rank, model in enumerate(self.models)}
        rank = np.array([ranks[self.arms[member].model] for member in members])
        variance = np.diag(matrix).copy()
        return BlockPrior.of(self.mean[members], variance, rank, MatrixRows(matrix))

    def columns(self, dataset: str) -> Mapping[str, int]:
        """Return the columns of the models that have an arm on the dataset."""
        return {
            self.arms[member].model: column
            for column, member in enumerate(self._members(self.block_key(dataset)))
            if self.arms[member].dataset == dataset
        }

    def describe(self) -> dict[str, Any]:
        """Return the prior as plain data for `prior_from`."""
        return {
            "layout": "joint",
            "arms": [list(arm) for arm in self.arms],
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "jitter": self.jitter,
        }

    def _members(self, key: str) -> npt.NDArray[np.int64]:
        return np.flatnonzero(np.isin(self._dataset_of, self._groups.members[key]))


def _first_of_group(linked: npt.NDArray[np.bool_]) -> list[int]:
    """Return for each dataset the first one that it is linked to, directly or through others."""
    first = [-1] * len(linked)
    for start in range(len(linked)):
        if first[start] < 0:
            first[start], reached = start, [start]
            while reached:
                for other in np.flatnonzero(linked[reached.pop()]).tolist():
                    if first[other] < 0:
                        first[other] = start
                        reached.append(other)
    return first


class _Groups:
    """Groups of datasets that are linked, directly or through other datasets."""

    def __init__(self, datasets: Sequence[str], linked: npt.NDArray[np.bool_]):
        first = _first_of_group(linked)
        self.members: dict[str, list[int]] = {}
        self._key: dict[str, str] = {}
        self._position: dict[str, int] = {}
        for number, dataset in enumerate(datasets):
            key = datasets[first[number]]
            group = self.members.setdefault(key, [])
            self._key[dataset], self._position[dataset] = key, len(group)
            group.append(number)

    def key(self, dataset: str) -> str:
        self._require(dataset)
        return self._key[dataset]

    def position(self, dataset: str) -> int:
        self._require(dataset)
        return self._position[dataset]

    def _require(self, dataset: str) -> None:
        if dataset not in self._key:
            raise InvalidPrior(
                f"the prior does not cover dataset {dataset!r}; "
                "include it in the prior, or use a prior shared by all datasets"
            )
