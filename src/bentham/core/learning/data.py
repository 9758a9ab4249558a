"""Input of the learner: the observed scores of many datasets, packed for batched arithmetic.

Datasets are sorted by their number of observations and split into batches, so that a batch is a
few dense arrays with little padding. All sums over a batch run in a fixed order, without BLAS:
the number of threads or the library build cannot change a decision.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bentham.core.gaussian.validation import Matrix, Vector

Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A batch has about this many entries of covariance rows: small enough for the CPU cache.
BATCH_ENTRIES = 1 << 20
# Each dataset of a batch has at least this share of the observations of the largest one.
DENSITY = 0.75


class Observed(NamedTuple):
    """The observations on one dataset, in order: the numbers of the models, and their scores."""

    models: Index
    scores: Vector


@dataclass(frozen=True, slots=True)
class Batch:
    """Several datasets as dense arrays; entries where `live` is false are padding.

    symbol  shape              meaning
    model   (datasets, depth)  the model of each observation, 0 in the padding
    score   (datasets, depth)  its score, 0 in the padding
    live    (datasets, depth)  whether it is an observation
    """

    model: Index
    score: Matrix
    live: Mask

    @property
    def counts(self) -> Vector:
        """Number of observations of each dataset."""
        counts: Vector = self.live.sum(axis=1).astype(np.float64)
        return counts


def pack(observed: Sequence[Observed]) -> Batch:
    """Pack datasets into one batch."""
    depth = max((len(dataset.models) for dataset in observed), default=0)
    model = np.zeros((len(observed), depth), dtype=np.int64)
    score = np.zeros((len(observed), depth))
    live = np.zeros((len(observed), depth), dtype=bool)
    for place, dataset in enumerate(observed):
        count = len(dataset.models)
        model[place, :count], score[place, :count] = dataset.models, dataset.scores
        live[place, :count] = True
    return Batch(model, score, live)


def batches(observed: Sequence[Observed], models: int) -> Iterator[tuple[Index, Batch]]:
    """Yield batches of datasets of similar depth, each with the indices of its datasets."""
    order = sorted(range(len(observed)), key=lambda place: len(observed[place].models))
    while order:
        depth = len(observed[order[-1]].models)
        chosen = order[-max(1, BATCH_ENTRIES // (models * max(1, depth))) :]
        chosen = [place for place in chosen if len(observed[place].models) >= DENSITY * depth]
        yield np.array(chosen), pack([observed[place] for place in chosen])
        del order[-len(chosen) :]
