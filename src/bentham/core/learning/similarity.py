"""Similarity of models from their descriptions: distances between and within families.

    symbol  shape             meaning
    f       (models,)         the number of a model's family
    p       (models, width)   its features minus 0.5; the k-th column is its family's k-th feature,
                              0 if the model does not have it
    D0      (models, models)  2 where families differ, else 0
    D1      (models, models)  |p - p'|^2 within a family, |p|^2 + |p'|^2 between families

D0 and D1 are squared distances between points that have an indicator for every family and a
coordinate for every feature of every family (0.5 for models of other families). So a Matern kernel
of D0 / l0^2 + D1 / l1^2 is a valid correlation. The points are never formed: they would be wide
and mostly empty. Two length scales, one for families and one for features, can be learned from
little data.

A model without a description is a family of its own, with all features at 0.5: as different from
any other model as two families are. Without its own indicator, all such models would be the same
point, and would be assumed to be equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.gaussian.kernels import KERNELS
from bentham.core.gaussian.validation import Matrix
from bentham.core.learning.data import Index
from bentham.core.learning.target import Where
from bentham.core.problem.study import ModelDescription

# The value of a feature that a model does not have.
MIDDLE = 0.5
GROUPS = 2
# Length scales to try, the best guess first.
LENGTHS = (0.4, 0.2, 0.8, 1.6, 0.1)


@dataclass(frozen=True, slots=True)
class Kinship:
    """The families and features of models, in compact form."""

    family: Index
    place: Matrix

    @staticmethod
    def of(models: Sequence[str], descriptions: Mapping[str, ModelDescription]) -> "Kinship | None":
        """Return the kinship of models; None if no model is described."""
        if not descriptions:
            return None
        numbers: dict[str, int] = {}
        columns: dict[tuple[str, str], int] = {}
        width: dict[str, int] = {}
        entries: list[tuple[int, int, float]] = []
        family = np.zeros(len(models), dtype=np.int64)
        for row, model in enumerate(models):
            described = descriptions.get(model)
            if described is None:
                family[row] = -1 - row  # its own family: a unique number
                continue
            name = described.family
            family[row] = numbers.setdefault(name, len(numbers))
            for feature, value in described.features.items():
                if (name, feature) not in columns:
                    columns[name, feature] = width.get(name, 0)
                    width[name] = columns[name, feature] + 1
                entries.append((row, columns[name, feature], value - MIDDLE))
        place = np.zeros((len(models), max(width.values(), default=0)))
        for row, column, value in entries:
            place[row, column] = value
        return Kinship(family, place)

    def only(self, models: Index) -> "Kinship":
        """Return the kinship of some of the models."""
        return Kinship(self.family[models], self.place[models])

    def distances(self, start: int = 0) -> "Distances":
        """Return the distances of the models from number `start` on to all models."""
        same = self.family[start:, np.newaxis] == self.family
        norm, within = np.zeros(len(self.place)), np.zeros(same.shape)
        for column in self.place.T:  # one at a time, to save memory
            norm += column * column
            difference = column[start:, np.newaxis] - column
            within += difference * difference
        between = norm[start:, np.newaxis] + norm
        return Distances(np.where(same, 0.0, 2.0), np.where(same, within, between))


@dataclass(frozen=True, slots=True)
class Distances:
    """Squared distances between the families of models, and between their features."""

    family: Matrix
    features: Matrix

    @property
    def groups(self) -> int:
        """Number of length scales."""
        return GROUPS

    @property
    def lengths(self) -> tuple[float, ...]:
        """Length scales that every fit tries.

        While few scores are known, the most likely length scales may be so short that no two models
        are similar. From there, small steps would change nothing and never lead back.
        """
        return LENGTHS

    def correlation(self, lengths: tuple[float, ...], where: Where = ()) -> Matrix:
        """Return the correlation of models for the length scales: all pairs, or some."""
        family, features = (1.0 / (length * length) for length in lengths)
        squares = family * self.family[where] + features * self.features[where]
        return KERNELS["matern52"](np.sqrt(squares))
