"""The multi-tenant predecessor that the paper cites: ease.ml's greedy, cost-aware GP-UCB.

Li, Zhong, Liu, Wu, Zhang: "Ease.ml: Towards Multi-tenant Resource Sharing for Machine Learning
Workloads" (2018). For study i at its t-th decision, with L_i models and costs c(x) of at most c*:

    B(x) = mu(x) + sqrt(beta c* / c(x)) sigma(x),   beta = 2 log(pi^2 N L_i t^2 / (6 delta))

The study with the largest potential, max B(x) - incumbent (times its weight), runs its model with
the largest B. Expensive models have a narrower bound, so cost matters only under uncertainty.
Our interpretation: c* is the study's own highest cost, N the number of studies being served, and
delta = 0.1.
"""

import math
from collections.abc import Container
from typing import Any

import numpy as np

from bentham.core.gaussian.validation import Vector
from bentham.core.policies.base import Option, rank_within
from bentham.core.policies.tournament import Tournament
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState

DELTA = 0.1


class GpUcb:
    """Picks the study by its potential, and its model by the cost-aware upper confidence bound."""

    name = "gp-ucb"

    def __init__(self) -> None:
        self._stale: dict[int, Block] = {}
        self._blocks: dict[int, Block] = {}
        self._entered: dict[int, set[int]] = {}
        self._studies = 0
        self._tournament: Tournament[tuple[float, int]] = Tournament()

    def __getstate__(self) -> dict[str, Any]:
        # Caches are not saved; they are computed again when the blocks are touched.
        return GpUcb().__dict__

    def touch(self, block: Block) -> None:
        """Mark the potentials of the block's studies as stale."""
        self._stale[block.order] = self._blocks[block.order] = block

    def rank(self, state: State, barred: Container[str] = ()) -> list[Option]:
        """Rank the models of the study with the largest potential."""
        if self._studies != len(state.studies):  # the bound's width depends on N
            self._studies = len(state.studies)
            self._stale.update(self._blocks)
        for block in self._stale.values():
            self._enter(block)
        self._stale.clear()
        for order in self._tournament.ascending():
            if state.by_order[order].tenant not in barred:
                return self.rank_study(state, state.by_order[order])
        return []

    def rank_study(self, state: State, study: StudyState) -> list[Option]:
        """Rank the study's models by their bounds."""
        return rank_within(study, _bounds(study, len(state.studies)))

    def unweighted(self, state: State, barred: Container[str] = ()) -> Option | None:  # noqa: ARG002
        """Return None: potentials without weights are not tracked."""
        return None

    def _enter(self, block: Block) -> None:
        for order in self._entered.get(block.order, set()):
            self._tournament.update(order, None)
        self._entered[block.order] = {study.order for study in block.studies}
        for study in block.studies:
            if study.open_arms and not block.satisfied(study):
                candidate = block.arms.candidate[study.columns]
                highest = float(_bounds(study, self._studies)[candidate].max())
                potential = study.weight * (highest - study.incumbent)
                self._tournament.update(study.order, (-potential, study.order))


def _bounds(study: StudyState, studies: int) -> Vector:
    """Return B(x) of each of a study's models; `studies` is N."""
    outlook, columns, costs = study.block.belief.outlook, study.columns, study.costs
    decisions = len(columns) - study.open_arms + 1
    beta = 2.0 * math.log(math.pi**2 * studies * len(columns) * decisions**2 / (6.0 * DELTA))
    width = np.sqrt(beta * costs.max() / costs) * outlook.sigma[columns]
    return outlook.warp.inverse(outlook.mean[columns] + width)
