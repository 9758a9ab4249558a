"""What a policy is: it ranks the arms that may be run next, best first."""

from collections.abc import Container
from typing import NamedTuple, Protocol

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.problem.decision import RANKED
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState


class Option(NamedTuple):
    """An arm that may be run next, on whose behalf, and what the policy ranks it by."""

    value: float
    study: StudyState
    column: int

    def same_arm(self, other: "Option") -> bool:
        """Whether both are one arm, on whosever behalf."""
        return (self.study.block, self.column) == (other.study.block, other.column)

    def listing(self) -> list[StudyState]:
        """The studies that the arm would serve."""
        return self.study.block.studies_listing(self.column)


class Policy(Protocol):
    """Chooses what to run next. It may remember what it computed, never what it decided."""

    @property
    def name(self) -> str:
        """As it is called on the command line."""

    def touch(self, block: Block) -> None:
        """A block has changed: whatever was computed from it is stale."""

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """The first RANKED options, best first; none if nothing may be run.

        Equal values rank by the lowest study, then the lowest model. Studies of barred tenants
        are passed over.
        """

    def rank_study(self, state: State, study: StudyState) -> list[Option]:
        """The first RANKED options of one study, best first."""

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:
        """What would come first if every study weighed one; None if weights change nothing."""


def rank_within(study: StudyState, values: Vector) -> list[Option]:
    """A study's candidates by value, highest first; `values` run along `study.columns`."""
    open_places = np.flatnonzero(study.block.arms.candidate[study.columns])
    # Columns stand in model order and the sort is stable: ties go to the lowest model.
    order = open_places[np.argsort(-values[open_places], kind="stable")[:RANKED]]
    return [Option(float(values[place]), study, int(study.columns[place])) for place in order]
