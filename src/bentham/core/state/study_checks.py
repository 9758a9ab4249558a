"""What a study must agree with before it is served."""

from collections.abc import Mapping

import numpy as np

from bentham.core.problem.study import Study
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState
from bentham.errors import InvalidInput


def study_state(spec: Study, order: int, block: Block, columns: dict[str, int]) -> StudyState:
    """The study as it begins to be served; its columns stand in model order."""
    pairs = sorted(columns.items(), key=lambda pair: int(block.prior.model_rank[pair[1]]))
    costs = np.array([spec.costs[model] for model, _ in pairs], dtype=np.float64)  # None is NaN
    return StudyState(spec, order, block, np.array([column for _, column in pairs]), costs)


def refuse_other_tenant(spec: Study, block: Block) -> None:
    """Studies of different tenants share nothing."""
    if block.tenant != spec.tenant:
        raise InvalidInput(
            f"study {spec.name!r} is on dataset {spec.dataset!r}, whose scores are another "
            "tenant's matter; give tenants datasets of their own, and a prior that keeps datasets "
            "apart"
        )


def refuse_other_costs(spec: Study, block: Block, columns: Mapping[str, int]) -> None:
    """One arm has one cost, whoever says it."""
    for model, cost in spec.costs.items():
        column = columns.get(model, block.prior.size)
        if cost is None or column >= block.prior.size:
            continue
        said = block.costs.said[column]
        if block.arms.listers[column] and not np.isnan(said) and said != cost:
            raise InvalidInput(
                f"study {spec.name!r} says that an arm of dataset {spec.dataset!r} costs "
                f"{cost:g}, which is said to cost {said:g}; "
                "one arm has one cost: make them agree"
            )
