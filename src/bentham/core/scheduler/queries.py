"""Read-only queries of the beliefs about studies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.gaussian.shortfall import Shortfall, mean_correlation, shortfall
from bentham.core.gaussian.validation import Vector
from bentham.core.policies.base import Policy
from bentham.core.policies.batch import BATCH, compute_together
from bentham.core.problem.decision import Reason
from bentham.core.problem.stop_rules import Prospect
from bentham.core.scheduler.belief import Belief
from bentham.core.state.arms import Status
from bentham.core.state.state import State


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The beliefs about the models of a study, as columns: one entry per model.

    Attributes:
        models: Names of the models.
        mean: Posterior medians of the scores (equal to the means unless scores are warped).
        sigma: Half the widths of the one-sigma intervals of the scores.
        expected_improvement: EI for the study, unweighted.
        cost: Expected costs, in the unit of the studies' costs.
    """

    models: list[str]
    mean: Vector
    sigma: Vector
    expected_improvement: Vector
    cost: Vector


@dataclass(frozen=True, slots=True)
class First:
    """The model that a study would run first.

    Attributes:
        study: Name of the study.
        model: Name of the model.
        reason: What picked the model: the policy or a warm start.
        value: The number that the policy ranks by; None for a warm start.
        expected_improvement: EI for the study, unweighted.
        cost: Expected cost, in the unit of the studies' costs.
        left: Number of the study's models that are still to be tried.
        running: Number of running trials on the study's dataset, or on datasets correlated
            with it.
    """

    study: str
    model: str
    reason: Reason
    value: float | None
    expected_improvement: float
    cost: float
    left: int
    running: int


def incumbent(state: State, name: str) -> tuple[str, float] | None:
    """Return a study's best model so far and its score; None before the first observation."""
    study = state.study(name)
    if study.incumbent_column is None:
        return None
    return state.model_name(study.block, study.incumbent_column), study.incumbent


def beliefs(state: State, name: str) -> dict[str, Belief]:
    """Return the belief about each model of a study; EI is weighted."""
    study = state.study(name)
    block = study.block
    means, sigmas = block.belief.outlook.interval()
    gains, costs = block.gains.of_study(study), block.costs.expected
    block.release_if_done()
    return {
        state.model_name(block, column): Belief(
            float(means[column]), float(sigmas[column]), float(gain), float(costs[column])
        )
        for column, gain in zip(study.columns, gains, strict=True)
    }


def prospect(state: State, name: str) -> Prospect:
    """Return what the models that are still to be tried are expected to add, unweighted."""
    study = state.study(name)
    found = study.block.prospect(study)
    study.block.release_if_done()
    return found


def satisfied(state: State, name: str) -> bool:
    """Return whether what is left of a study is not worth running."""
    study = state.study(name)
    return study.block.satisfied(study)


def expected_shortfall(state: State, name: str) -> Shortfall:
    """Return the mean and variance of a study's gain if all its models were tried."""
    study = state.study(name)
    block, columns = study.block, study.columns
    status = block.arms.status[columns]
    open_columns = columns[(status == Status.UNTRIED) | (status == Status.RUNNING)]
    correlation = mean_correlation(block.prior, block.belief.posterior, open_columns)
    found = shortfall(block.belief.outlook, open_columns, correlation, study.incumbent)
    block.release_if_done()
    return found


def survey(state: State, names: Sequence[str]) -> list[Beliefs]:
    """Return the beliefs about the models of several studies; EI is unweighted."""
    studies = [state.study(name) for name in names]
    blocks = list({study.block.order: study.block for study in studies}.values())
    for start in range(0, len(blocks), BATCH):
        compute_together(blocks[start : start + BATCH])
    models, found = state.prior.models, []
    for study in studies:
        block, columns = study.block, study.columns
        means, sigmas = block.belief.outlook.interval()
        ranks = block.prior.model_rank[columns].tolist()
        found.append(
            Beliefs(
                [models[rank] for rank in ranks],
                means[columns],
                sigmas[columns],
                block.gains.of_study(study) / study.weight,
                block.costs.expected[columns],
            )
        )
    for block in blocks:
        block.release_if_done()
    return found


def first(state: State, policy: Policy, name: str) -> First | None:
    """Return the model that a study would run first; None if nothing is left to try."""
    study = state.study(name)
    block = study.block
    if not study.open_arms:
        return None
    planned = state.warm_queue.first_of(study)
    if planned is None:
        value, _, column = policy.rank_study(state, study)[0]
        reason, ranked = Reason.POLICY, value
    else:
        column, reason, ranked = planned, Reason.WARM_START, None
    place = int(np.flatnonzero(study.columns == column)[0])
    return First(
        study=study.name,
        model=state.model_name(block, column),
        reason=reason,
        value=ranked,
        expected_improvement=float(block.gains.of_study(study)[place]) / study.weight,
        cost=float(block.costs.expected[column]),
        left=study.open_arms,
        running=len(block.arms.running()),
    )
