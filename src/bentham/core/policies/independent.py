"""The paper's two baselines: pick a study regardless of EI, then its model of highest EI."""

import bisect
import itertools
from collections.abc import Container

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.policies.base import Option, rank_within
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState


class RoundRobin:
    """GP-EI-Round-Robin: studies take turns; those with nothing left worth trying are skipped."""

    name = "round-robin"

    def touch(self, block: Block) -> None:
        """Do nothing: nothing is cached."""

    def values(self, study: StudyState) -> Vector:
        """Return the values that a study's models are ranked by: its EI."""
        return study.block.gains.of_study(study)

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """Rank the models of the study whose turn it is."""
        orders = admitted(state, barred)
        turn = bisect.bisect_right(orders, state.cursor)
        for order in itertools.chain(orders[turn:], orders[:turn]):
            study = state.by_order[order]
            if not study.block.satisfied(study):
                return self.rank_study(state, study)
        return []

    def rank_study(self, state: State, study: StudyState) -> list[Option]:  # noqa: ARG002
        """Rank the study's models by value."""
        return rank_within(study, self.values(study))

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Return None: weights have no effect."""
        return None


class RandomStudy:
    """GP-EI-Random: the study is drawn uniformly at random.

    The draw depends on the seed and the trial's number alone, not on the number of calls: applying
    recorded decisions leads to the same next draw as making them.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def touch(self, block: Block) -> None:
        """Do nothing: nothing is cached."""

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """Draw a study with models worth trying, and rank its models by EI."""
        studies = [state.by_order[order] for order in admitted(state, barred)]
        studies = [study for study in studies if not study.block.satisfied(study)]
        if not studies:
            return []
        # Raw bits: numpy guarantees that their stream never changes, unlike that of its methods.
        bits = np.random.PCG64(np.random.SeedSequence([self._seed, state.next_trial]))
        return self.rank_study(state, studies[int(bits.random_raw()) % len(studies)])

    def rank_study(self, state: State, study: StudyState) -> list[Option]:  # noqa: ARG002
        """Rank the study's models by EI."""
        return rank_within(study, study.block.gains.of_study(study))

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Return None: weights have no effect."""
        return None


def admitted(state: State, barred: Container[str]) -> list[int]:
    """Return the orders of the studies with models left to try, except those of barred tenants."""
    if not barred:
        return state.waiting.orders
    return [order for order in state.waiting.orders if state.by_order[order].tenant not in barred]
