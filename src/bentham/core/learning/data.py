"""What the learner sees: the observed scores of many datasets, packed for batched arithmetic.

Datasets are sorted by how much was observed of them and cut into batches, so that one batch is a
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

# A batch holds about this many covariance rows' entries at once: small enough for the cache.
BATCH_ENTRIES = 1 << 20
# No dataset of a batch has fewer observations than this share of the most.
DENSITY = 0.75


class Observed(NamedTuple):
    """What was observed on one dataset: models by their number, and their scores, in order."""

    models: Index
    scores: Vector


@dataclass(frozen=True, slots=True)
class Batch:
    """Some datasets as dense arrays; where `live` is false there is only padding.

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
        """How many observations each dataset has."""
        counts: Vector = self.live.sum(axis=1).astype(np.float64)
        return counts


def pack(observed: Sequence[Observed]) -> Batch:
    """Datasets as one batch."""
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
    """Datasets as batches of similar depth, each with the places of its datasets."""
    order = sorted(range(len(observed)), key=lambda place: len(observed[place].models))
    while order:
        depth = len(observed[order[-1]].models)
        chosen = order[-max(1, BATCH_ENTRIES // (models * max(1, depth))) :]
        chosen = [place for place in chosen if len(observed[place].models) >= DENSITY * depth]
        yield np.array(chosen), pack([observed[place] for place in chosen])
        del order[-len(chosen) :]
