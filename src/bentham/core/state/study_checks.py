"""Checks of a study against the block that it joins."""

from collections.abc import Mapping

import numpy as np

from bentham.core.problem.study import StudySpec
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState
from bentham.errors import InvalidInput


def study_state(spec: StudySpec, order: int, block: Block, columns: dict[str, int]) -> StudyState:
    """Return the initial state of a study; its columns are in model order."""
    pairs = sorted(columns.items(), key=lambda pair: int(block.prior.model_rank[pair[1]]))
    costs = np.array([spec.costs[model] for model, _ in pairs], dtype=np.float64)  # None is NaN
    return StudyState(spec, order, block, np.array([column for _, column in pairs]), costs)


def refuse_other_tenant(spec: StudySpec, block: Block) -> None:
    """Raise InvalidInput if the block belongs to another tenant: tenants share no scores."""
    if block.tenant != spec.tenant:
        raise InvalidInput(
            f"study {spec.name!r} is on dataset {spec.dataset!r}, which another tenant uses or "
            "which is correlated with a dataset of another tenant; give each tenant its own "
            "datasets, and a prior without correlation between them"
        )


def refuse_other_costs(spec: StudySpec, block: Block, columns: Mapping[str, int]) -> None:
    """Raise InvalidInput if another study declares another cost for an arm."""
    for model, cost in spec.costs.items():
        column = columns.get(model, block.prior.size)
        if cost is None or column >= block.prior.size:
            continue
        declared = block.costs.declared[column]
        if block.arms.listers[column] and not np.isnan(declared) and declared != cost:
            raise InvalidInput(
                f"study {spec.name!r} gives cost {cost:g} for an arm of dataset "
                f"{spec.dataset!r}, but another study gives cost {declared:g} for it; "
                "one arm has one cost: make them agree"
            )
