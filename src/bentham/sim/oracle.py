"""The oracle: a policy that knows every score. A baseline for other policies; simulation only."""

from collections.abc import Container, Mapping

import numpy as np

from bentham.core import Arm
from bentham.core.gaussian.validation import Vector
from bentham.core.policies import HighestRate, Option, PolicyMaker
from bentham.core.state.arms import Status
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState
from bentham.errors import InvalidInput


class Oracle(HighestRate):
    """Runs the arm with the highest true gain per cost; a study whose best arm is running waits.

    An arm's true gain is the weighted sum, over the studies that list it, of the improvement of
    their incumbents. Once no study can gain anything, the remaining arms run in order.
    """

    name = "oracle"

    def __init__(self, truth: Mapping[Arm, float]):
        super().__init__()
        self._truth = truth
        self._scores: dict[int, Vector] = {}

    @classmethod
    def knowing(cls, truth: Mapping[Arm, float]) -> PolicyMaker:
        """Return a policy maker for an oracle that knows these scores; the seed is ignored."""
        return lambda _: cls(truth)

    def gains(self, state: State, block: Block) -> Vector:
        """Return the true gain of each arm if it ended now."""
        gains = np.zeros(block.prior.size)
        for study in block.studies:
            scores = self._scores_of(state, study)
            possible = block.arms.status[study.columns] != Status.FAILED
            best = study.columns[scores == scores.max(where=possible, initial=-np.inf)]
            if not np.any(block.arms.status[best] == Status.RUNNING):
                improvement = np.maximum(scores - study.incumbent, 0.0)
                gains[study.columns] += study.weight * improvement
        return gains

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Return None: the effect of weights is not tracked for the oracle."""
        return None

    def _scores_of(self, state: State, study: StudyState) -> Vector:
        if study.order not in self._scores:
            arms = [
                Arm(study.dataset, state.model_name(study.block, column))
                for column in study.columns
            ]
            for arm in arms:
                if arm not in self._truth:
                    raise InvalidInput(f"the oracle lacks the score of {arm}; add it")
            self._scores[study.order] = np.array([self._truth[arm] for arm in arms])
        return self._scores[study.order]
