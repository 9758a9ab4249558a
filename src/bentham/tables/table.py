"""A table: the score and cost of every model on every study, for simulation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentham.core import Arm, StudySpec
from bentham.core.gaussian.validation import Matrix
from bentham.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Table:
    """Scores and costs, studies by models, NaN where a study does not list a model.

    Every study has its own dataset. `features`, if known, has one row per model. `sizes`, if known,
    holds the rows and columns of each study's dataset (0: unknown). `rows` holds the row of the
    file at which each study starts.
    """

    name: str
    studies: tuple[str, ...]
    models: tuple[str, ...]
    scores: Matrix
    costs: Matrix
    features: Matrix | None = None
    sizes: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, ...] = ()

    def only(self, studies: Sequence[int]) -> "Table":
        """Return the table restricted to the studies at these positions."""
        chosen = list(studies)
        return replace(
            self,
            studies=tuple(self.studies[study] for study in chosen),
            scores=self.scores[chosen],
            costs=self.costs[chosen],
            sizes=tuple(self.sizes[study] for study in chosen) if self.sizes else (),
            rows=tuple(self.rows[study] for study in chosen) if self.rows else (),
        )

    def specs(self, floor: float = 0.0) -> list[StudySpec]:
        """Return the studies in the form that a scheduler accepts."""
        return [
            StudySpec(
                name,
                {
                    model: float(cost)
                    for model, cost in zip(self.models, costs, strict=True)
                    if np.isfinite(cost)
                },
                floor=floor,
                rows=rows or None,
                columns=columns or None,
            )
            for name, costs, (rows, columns) in zip(
                self.studies, self.costs, self.sizes or [(0, 0)] * len(self.studies), strict=True
            )
        ]

    def truth(self) -> dict[Arm, float]:
        """Return the score of every arm."""
        return {
            Arm(study, model): float(score)
            for study, scores in zip(self.studies, self.scores, strict=True)
            for model, score in zip(self.models, scores, strict=True)
            if np.isfinite(score)
        }

    def split(self, history: int, seed: int, complete_only: bool = True) -> tuple["Table", "Table"]:
        """Return (history, served): `history` studies drawn at random, and all others."""
        complete = np.flatnonzero(np.isfinite(self.scores).all(axis=1) | (not complete_only))
        if history >= len(self.studies):
            raise InvalidInput(
                f"cannot hold out {history} of the {len(self.studies)} studies of {self.name}: "
                "none would be left to serve; hold out fewer, or supply a separate history"
            )
        if history > len(complete):
            raise InvalidInput(
                f"cannot hold out {history} studies of {self.name}: only {len(complete)} list "
                "every model; hold out fewer, supply a separate history, or use a kernel prior"
            )
        # Raw bits of a fixed generator, so that every version of numpy gives the same draw.
        bits = np.random.PCG64(np.random.SeedSequence([seed, len(self.studies)]))
        keys = bits.random_raw(len(complete))
        drawn = set(complete[np.argsort(keys, kind="stable")[:history]].tolist())
        served = [study for study in range(len(self.studies)) if study not in drawn]
        return self.only(sorted(drawn)), self.only(served)
