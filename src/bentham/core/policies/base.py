"""The interface of a policy: it ranks the arms that may run next, best first."""

from collections.abc import Container
from typing import NamedTuple, Protocol

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.problem.decision import RANKED
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState


class Option(NamedTuple):
    """An arm that may run next, the study it would run for, and the value that ranks it."""

    value: float
    study: StudyState
    column: int

    def same_arm(self, other: "Option") -> bool:
        """Return whether both are the same arm, whatever the study."""
        return (self.study.block, self.column) == (other.study.block, other.column)

    def listing(self) -> list[StudyState]:
        """Return the studies that list the arm."""
        return self.study.block.studies_listing(self.column)


class Policy(Protocol):
    """Chooses what to run next.

    A policy may cache what it computes but must not remember its decisions: recovery applies
    recorded decisions without asking the policy. If it caches, it defines `__getstate__`, which
    leaves the caches out: copies and snapshots start with empty ones, and `touch` is called again
    for every block. A snapshot can contain only objects of classes in `bentham.core`.
    """

    @property
    def name(self) -> str:
        """Name of the policy on the command line."""

    def touch(self, block: Block) -> None:
        """Mark a block as changed: whatever was computed from it is stale."""

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """Return the RANKED best options, best first; fewer or none if fewer arms may run.

        Ties go to the study added first, then to the model listed first in the prior.

        Args:
            state: The current state; must not be changed.
            barred: Tenants whose studies are skipped. Default: none.
        """

    def rank_study(self, state: State, study: StudyState) -> list[Option]:
        """Return the RANKED best options of one study, best first.

        Args:
            state: The current state; must not be changed.
            study: A study with models left to try.
        """

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:
        """Return the option that would rank first if all weights were 1.

        Returns None if weights have no effect, or if the policy does not track it.

        Args:
            state: The current state; must not be changed.
            barred: Tenants whose studies are skipped. Default: none.
        """


def rank_within(study: StudyState, values: Vector) -> list[Option]:
    """Rank a study's candidates by value, highest first; `values` belong to `study.columns`."""
    open_places = np.flatnonzero(study.block.arms.candidate[study.columns])
    # Columns are in model order and the sort is stable: ties go to the earlier model.
    order = open_places[np.argsort(-values[open_places], kind="stable")[:RANKED]]
    return [Option(float(values[place]), study, int(study.columns[place])) for place in order]
