"""The arms of a block: which of them are tried, and how many studies list them.

name        shape    meaning
status      (arms,)  untried, running, observed or failed
listers     (arms,)  how many studies list the arm
candidate   (arms,)  listed by a study and untried: what may be picked
first_study (arms,)  the lowest study that lists the arm, where one does
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from bentham.core.gaussian.validation import Integers
from bentham.core.state.study_state import StudyState


class Status(IntEnum):
    """Where an arm stands."""

    UNTRIED = 0
    RUNNING = 1
    OBSERVED = 2
    FAILED = 3


class Arms:
    """Where every arm of a block stands."""

    __slots__ = ("_running", "candidate", "first_study", "listers", "status")

    def __init__(self, size: int):
        self.status = np.zeros(size, dtype=np.int8)
        self.listers: Integers = np.zeros(size, dtype=np.int64)
        self.candidate = np.zeros(size, dtype=bool)
        self.first_study: Integers = np.zeros(size, dtype=np.int64)
        self._running: set[int] = set()

    def copy(self) -> "Arms":
        """The same arms, to be changed by themselves."""
        made = Arms.__new__(Arms)
        made.status, made.listers = self.status.copy(), self.listers.copy()
        made.candidate, made.first_study = self.candidate.copy(), self.first_study.copy()
        made._running = set(self._running)
        return made

    def widen(self, more: int) -> None:
        """There are so many arms more, which nobody lists yet."""
        self.status = np.pad(self.status, (0, more))
        self.listers = np.pad(self.listers, (0, more))
        self.candidate = np.pad(self.candidate, (0, more))
        self.first_study = np.pad(self.first_study, (0, more))

    def add(self, study: StudyState) -> None:
        """A study lists arms from now on: the youngest, so that it comes after all others."""
        columns = study.columns
        self.first_study[columns[self.listers[columns] == 0]] = study.order
        self.listers[columns] += 1
        self.candidate[columns] = self.status[columns] == Status.UNTRIED

    def remove(self, study: StudyState, others: Sequence[StudyState]) -> None:
        """A study lists nothing any more; `others` still do."""
        self.listers[study.columns] -= 1
        self.candidate &= self.listers > 0
        for other in reversed(others):
            self.first_study[other.columns] = other.order

    def start(self, column: int) -> None:
        """A candidate is run from now on."""
        self.status[column] = Status.RUNNING
        self._running.add(column)
        self.candidate[column] = False

    def observe(self, column: int) -> None:
        """The score of an arm is known."""
        self.status[column] = Status.OBSERVED
        self._running.discard(column)

    def fail(self, column: int) -> None:
        """A running arm will not be tried again."""
        self.status[column] = Status.FAILED
        self._running.discard(column)

    def restore(self, column: int, listed: bool) -> None:
        """A running arm may be picked again, if anybody still lists it."""
        self.status[column] = Status.UNTRIED
        self._running.discard(column)
        self.candidate[column] = listed

    def running(self) -> list[int]:
        """The columns that are running, ascending."""
        return sorted(self._running)
