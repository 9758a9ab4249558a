"""The arms of a block: the status of each, and the number of studies that list it.

name        shape    meaning
status      (arms,)  untried, running, observed or failed
listers     (arms,)  number of studies that list the arm
candidate   (arms,)  listed by a study and untried: may be picked
first_study (arms,)  order of the first study that lists the arm, if any
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from bentham.core.gaussian.validation import Integers
from bentham.core.state.study_state import StudyState


class Status(IntEnum):
    """Status of an arm."""

    UNTRIED = 0
    RUNNING = 1
    OBSERVED = 2
    FAILED = 3


class Arms:
    """The status of every arm of a block."""

    __slots__ = ("_running", "candidate", "first_study", "listers", "status")

    def __init__(self, size: int):
        self.status = np.zeros(size, dtype=np.int8)
        self.listers: Integers = np.zeros(size, dtype=np.int64)
        self.candidate = np.zeros(size, dtype=bool)
        self.first_study: Integers = np.zeros(size, dtype=np.int64)
        self._running: set[int] = set()

    def copy(self) -> "Arms":
        """Return an independent copy."""
        made = Arms.__new__(Arms)
        made.status, made.listers = self.status.copy(), self.listers.copy()
        made.candidate, made.first_study = self.candidate.copy(), self.first_study.copy()
        made._running = set(self._running)
        return made

    def widen(self, added: int) -> None:
        """Append arms that no study lists yet."""
        self.status = np.pad(self.status, (0, added))
        self.listers = np.pad(self.listers, (0, added))
        self.candidate = np.pad(self.candidate, (0, added))
        self.first_study = np.pad(self.first_study, (0, added))

    def add(self, study: StudyState) -> None:
        """Add a study; it must be the latest, so that it comes after all others."""
        columns = study.columns
        self.first_study[columns[self.listers[columns] == 0]] = study.order
        self.listers[columns] += 1
        self.candidate[columns] = self.status[columns] == Status.UNTRIED

    def remove(self, study: StudyState, others: Sequence[StudyState]) -> None:
        """Remove a study; `others` are the remaining ones."""
        self.listers[study.columns] -= 1
        self.candidate &= self.listers > 0
        for other in reversed(others):
            self.first_study[other.columns] = other.order

    def start(self, column: int) -> None:
        """Mark a candidate as running."""
        self.status[column] = Status.RUNNING
        self._running.add(column)
        self.candidate[column] = False

    def observe(self, column: int) -> None:
        """Mark an arm as observed."""
        self.status[column] = Status.OBSERVED
        self._running.discard(column)

    def fail(self, column: int) -> None:
        """Mark a running arm as failed: it is not tried again."""
        self.status[column] = Status.FAILED
        self._running.discard(column)

    def restore(self, column: int, listed: bool) -> None:
        """Mark a running arm as untried; `listed`: a study still lists it, so it may be picked."""
        self.status[column] = Status.UNTRIED
        self._running.discard(column)
        self.candidate[column] = listed

    def running(self) -> list[int]:
        """Return the columns of the running arms, ascending."""
        return sorted(self._running)
