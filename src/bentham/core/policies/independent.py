"""The paper's two baselines: a study is chosen blindly, then its model by that study's EI."""

import bisect
from collections.abc import Container

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.policies.base import Option, rank_within
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState


class RoundRobin:
    """GP-EI-Round-Robin: studies take turns; one with nothing left to try is passed over."""

    name = "round-robin"

    def touch(self, block: Block) -> None:
        """Nothing is remembered."""

    def values(self, study: StudyState) -> Vector:
        """What a study's models are ranked by: its EI."""
        return study.block.gains.of_study(study)

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """The next study after the one served last, its models by value."""
        orders = admitted(state, barred)
        if not orders:
            return []
        turn = bisect.bisect_right(orders, state.cursor) % len(orders)
        return self.rank_study(state, state.by_order[orders[turn]])

    def rank_study(self, state: State, study: StudyState) -> list[Option]:  # noqa: ARG002
        """The study's models by value."""
        return rank_within(study, self.values(study))

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Weights play no part."""
        return None


class RandomStudy:
    """GP-EI-Random: the study is drawn uniformly.

    The draw depends on the seed and the trial's number alone, not on how often it was asked for:
    applying recorded decisions leads to the same next draw as making them.
    """

    name = "random"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def touch(self, block: Block) -> None:
        """Nothing is remembered."""

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """A study drawn among those with something left to try, its models by EI."""
        orders = admitted(state, barred)
        if not orders:
            return []
        # Raw bits, since numpy promises their stream for ever and that of its methods not.
        bits = np.random.PCG64(np.random.SeedSequence([self._seed, state.next_trial]))
        turn = int(bits.random_raw()) % len(orders)
        return self.rank_study(state, state.by_order[orders[turn]])

    def rank_study(self, state: State, study: StudyState) -> list[Option]:  # noqa: ARG002
        """The study's models by EI."""
        return rank_within(study, study.block.gains.of_study(study))

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Weights play no part."""
        return None


def admitted(state: State, barred: Container[str]) -> list[int]:
    """The studies with something left to try, but for barred tenants."""
    if not barred:
        return state.waiting.orders
    return [order for order in state.waiting.orders if state.by_order[order].tenant not in barred]
