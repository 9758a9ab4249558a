"""The paper's two baselines: a study is chosen blindly, then its model by that study's EI."""

import bisect

import numpy as np

from bentham.core.blocks import Block
from bentham.core.policies.base import Option, rank_within
from bentham.core.state import State
from bentham.core.study_state import StudyState
from bentham.core.validation import Vector


class RoundRobin:
    """GP-EI-Round-Robin: studies take turns; one with nothing left to try is passed over."""

    name = "round-robin"

    def touch(self, block: Block) -> None:
        """Nothing is remembered."""

    def values(self, study: StudyState) -> Vector:
        """What a study's models are ranked by: its EI."""
        return study.block.study_gains(study)

    def rank(self, state: State) -> list[Option]:
        """The next study after the one served last, its models by value."""
        orders = state.open_orders
        if not orders:
            return []
        turn = bisect.bisect_right(orders, state.cursor) % len(orders)
        study = state.by_order[orders[turn]]
        return rank_within(study, self.values(study))


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

    def rank(self, state: State) -> list[Option]:
        """A study drawn among those with something left to try, its models by EI."""
        orders = state.open_orders
        if not orders:
            return []
        # Raw bits, since numpy promises their stream for ever and that of its methods not.
        bits = np.random.PCG64(np.random.SeedSequence([self._seed, state.next_trial]))
        turn = int(bits.random_raw()) % len(orders)
        study = state.by_order[orders[turn]]
        return rank_within(study, study.block.study_gains(study))
