"""Warm start: the arms that every study runs first, before the policy chooses.

fastest:k  every study's fastest model in study order, then every study's second fastest, ...
           (the protocol of Section 6 is fastest:2)
mean       every study's arm of highest prior mean (Alg. 1 lines 1-2)
none       the policy chooses from the first trial on
"""

import bisect
from collections.abc import Container, Mapping
from dataclasses import dataclass

import numpy as np

from bentham.core.state.arms import Status
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState
from bentham.errors import InvalidInput

# (round, study's order, arm's column in the study's block): the lowest runs first.
Pick = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class WarmStart:
    """A rule for the first arms of every study."""

    name: str
    rounds: int

    @staticmethod
    def parse(text: str) -> "WarmStart":
        """Parse `fastest:k`, `mean` or `none`."""
        name, _, rounds = text.partition(":")
        number = int(rounds) if rounds.isascii() and rounds.isdigit() and len(rounds) <= 9 else 0
        if name == "fastest" and number > 0:
            return WarmStart(name, number)
        if text in ("mean", "none"):
            return WarmStart(text, 1)
        raise InvalidInput(
            f"unknown warm start {text!r}; choose fastest:k (k = 1, 2, ...), mean or none"
        )

    def picks(self, study: StudyState) -> list[Pick]:
        """Return the arms that the study runs first; ties go to the first model."""
        if self.name == "none":
            return []
        keys = -study.block.prior.mean[study.columns] if self.name == "mean" else study.costs
        chosen = study.columns[np.argsort(keys, kind="stable")[: self.rounds]]
        return [(turn, study.order, int(column)) for turn, column in enumerate(chosen)]


class WarmQueue:
    """The warm-start picks still to be run, in order.

    A pick is removed when its trial starts, or when it can never start again. Which picks can still
    run depends on the events alone, not on the number of queries.
    """

    def __init__(self) -> None:
        self._picks: list[tuple[Pick, StudyState]] = []  # ascending

    def copy(self, studies: Mapping[int, StudyState]) -> "WarmQueue":
        """Return a copy over copies of the studies, by order; picks of removed ones are dropped."""
        made = WarmQueue()
        made._picks = [
            (pick, studies[study.order]) for pick, study in self._picks if study.order in studies
        ]
        return made

    def push(self, pick: Pick, study: StudyState) -> None:
        """Add a pick, or add it again after its trial was lost or released."""
        bisect.insort(self._picks, (pick, study), key=_pick_of)

    def first(self, barred: Container[str] = ()) -> tuple[StudyState, int] | None:
        """Return the next pick that can run now, skipping barred tenants."""
        index = self._first_index(barred)
        if index is None:
            return None
        (_, _, column), study = self._picks[index]
        return study, column

    def first_of(self, study: StudyState) -> int | None:
        """Return the column of a study's next pick that can run now; changes nothing."""
        for (_, order, column), _ in self._picks:
            if order == study.order and study.block.arms.status[column] == Status.UNTRIED:
                return column
        return None

    def take(self, block: Block, column: int) -> tuple[Pick, StudyState] | None:
        """Remove and return the first pick of this arm; None if there is none.

        Only picks of barred tenants may come before it.
        """
        for index, ((_, _, picked), study) in enumerate(self._picks):
            if study.block is block and picked == column and study.served:
                return self._picks.pop(index)
        return None

    def _first_index(self, barred: Container[str]) -> int | None:
        index = 0
        while index < len(self._picks):
            (_, _, column), study = self._picks[index]
            status = study.block.arms.status[column]
            if not study.served or status in (Status.OBSERVED, Status.FAILED):
                del self._picks[index]  # permanent: it can never run again
            # Temporary: a trial for another study may be lost, and a limit may be lifted.
            elif status == Status.RUNNING or study.tenant in barred:
                index += 1
            else:
                return index
        return None


def _pick_of(entry: tuple[Pick, StudyState]) -> Pick:
    return entry[0]
