"""What every study runs first, before the policy chooses.

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
        number = int(rounds) if rounds.isascii() and rounds.isdigit() and len(rounds) <= 9 else 0
        if name == "fastest" and number > 0:
            return WarmStart(name, number)
        if text in ("mean", "none"):
            return WarmStart(text, 1)
        raise InvalidInput(
            f"unknown warm start {text!r}; choose fastest:k (k = 1, 2, ...), mean or none"
        )

    def picks(self, study: StudyState) -> list[Pick]:
        """The arms that the study begins with; ties go to the lowest model."""
        if self.name == "none":
            return []
        keys = -study.block.prior.mean[study.columns] if self.name == "mean" else study.costs
        chosen = study.columns[np.argsort(keys, kind="stable")[: self.rounds]]
        return [(turn, study.order, int(column)) for turn, column in enumerate(chosen)]


class WarmQueue:
    """The warm-start picks still to be run, in order.

    A pick goes when its trial starts, or when it can never start again; which picks are left is
    a matter of the events alone, however often anybody looked.
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
        """Plan a pick, or plan it again after its trial was lost."""
        bisect.insort(self._picks, (pick, study), key=_pick_of)

    def first(self, barred: Container[str] = ()) -> tuple[StudyState, int] | None:
        """The next pick that can be run now, of no tenant that is barred."""
        place = self._first_place(barred)
        if place is None:
            return None
        (_, _, column), study = self._picks[place]
        return study, column

    def first_of(self, study: StudyState) -> int | None:
        """The column of a study's own next pick that can be run now. Changes nothing."""
        for (_, order, column), _ in self._picks:
            if order == study.order and study.block.arms.status[column] == Status.UNTRIED:
                return column
        return None

    def take(self, block: Block, column: int) -> tuple[Pick, StudyState] | None:
        """Remove and return the pick of this arm: the next, but for tenants that were barred."""
        for place, ((_, _, picked), study) in enumerate(self._picks):
            if study.block is block and picked == column and study.served:
                return self._picks.pop(place)
        return None

    def _first_place(self, barred: Container[str]) -> int | None:
        place = 0
        while place < len(self._picks):
            (_, _, column), study = self._picks[place]
            status = study.block.arms.status[column]
            if not study.served or status in (Status.OBSERVED, Status.FAILED):
                del self._picks[place]  # for good: neither comes back
            # Running on another study's behalf, it may get lost; what is barred is so for a while.
            elif status == Status.RUNNING or study.tenant in barred:
                place += 1
            else:
                return place
        return None


def _pick_of(entry: tuple[Pick, StudyState]) -> Pick:
    return entry[0]
