"""What every study runs first, before the policy chooses.

fastest:k  every study's fastest model in study order, then every study's second fastest, ...
           (the protocol of Section 6 is fastest:2)
mean       every study's arm of highest prior mean (Alg. 1 lines 1-2)
none       the policy chooses from the first trial on
"""

import heapq
from dataclasses import dataclass

import numpy as np

from bentham.core.blocks import Block, StudyState
from bentham.errors import InvalidInput

# (round, study's order, the arm's column in the study's block): served in this order.
Pick = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class WarmStart:
    """A named way to begin."""

    name: str
    rounds: int

    @staticmethod
    def parse(text: str) -> "WarmStart":
        """Read `fastest:k`, `mean` or `none`."""
        name, _, rounds = text.partition(":")
        if name == "fastest" and rounds.isdecimal() and int(rounds) > 0:
            return WarmStart(name, int(rounds))
        if text in ("mean", "none"):
            return WarmStart(text, 1)
        raise InvalidInput(
            f"unknown warm start {text!r}; choose fastest:k (k = 1, 2, ...), mean or none"
        )

    def __str__(self) -> str:
        return f"fastest:{self.rounds}" if self.name == "fastest" else self.name

    def picks(self, study: StudyState) -> list[Pick]:
        """The arms that the study begins with; ties go to the lowest model."""
        if self.name == "none":
            return []
        keys = -study.block.prior.mean[study.columns] if self.name == "mean" else study.costs
        chosen = study.columns[np.argsort(keys, kind="stable")[: self.rounds]]
        return [(turn, study.order, int(column)) for turn, column in enumerate(chosen)]


class WarmQueue:
    """The warm-start picks still to be run, in order."""

    def __init__(self) -> None:
        self._heap: list[tuple[Pick, StudyState]] = []

    def push(self, pick: Pick, study: StudyState) -> None:
        """Plan a pick, or plan it again after its trial was lost."""
        # Picks differ at least by study and column, so the heap never compares the studies.
        heapq.heappush(self._heap, (pick, study))

    def first(self) -> tuple[StudyState, int] | None:
        """The next pick that can be run; those that cannot any more are dropped."""
        while self._heap:
            (_, _, column), study = self._heap[0]
            if study.block.candidate[column] and study in study.block.studies:
                return study, column
            heapq.heappop(self._heap)
        return None

    def take(self, block: Block, column: int) -> tuple[Pick, StudyState] | None:
        """Remove and return the first pick if it is this arm."""
        first = self.first()
        if first is None or first[0].block is not block or first[1] != column:
            return None
        return heapq.heappop(self._heap)
