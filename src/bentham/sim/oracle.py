"""The oracle: knows every score. A yardstick for policies that do not; simulation only."""

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
    """Runs the arm of highest true gain per cost; a study whose best arm is running waits.

    An arm's true gain is what it would add to the incumbents of the studies that list it, times
    their weights. Once nobody has anything to gain, what is left is run in order.
    """

    name = "oracle"

    def __init__(self, truth: Mapping[Arm, float]):
        super().__init__()
        self._truth = truth
        self._scores: dict[int, Vector] = {}

    @classmethod
    def knowing(cls, truth: Mapping[Arm, float]) -> PolicyMaker:
        """What makes an oracle of these scores; the seed does not matter."""
        return lambda _: cls(truth)

    def gains(self, state: State, block: Block) -> Vector:
        """What each arm would add if it ended now."""
        gains = np.zeros(block.prior.size)
        for study in block.studies:
            scores = self._known(state, study)
            possible = block.arms.status[study.columns] != Status.FAILED
            best = study.columns[scores == scores.max(where=possible, initial=-np.inf)]
            if not np.any(block.arms.status[best] == Status.RUNNING):
                improvement = np.maximum(scores - study.incumbent, 0.0)
                gains[study.columns] += study.weight * improvement
        return gains

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Not told: a yardstick need not justify itself."""
        return None

    def _known(self, state: State, study: StudyState) -> Vector:
        if study.order not in self._scores:
            arms = [
                Arm(study.dataset, state.model_name(study.block, column))
                for column in study.columns
            ]
            for arm in arms:
                if arm not in self._truth:
                    raise InvalidInput(f"the oracle lacks the score of {arm}; give it every score")
            self._scores[study.order] = np.array([self._truth[arm] for arm in arms])
        return self._scores[study.order]
