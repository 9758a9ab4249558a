"""Expected costs on datasets, computed on demand from beliefs captured earlier.

Capturing a belief at an event costs almost nothing. Its expected costs are computed when they are
needed, for many datasets at once. Most beliefs are replaced by later ones before that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from bentham.core.costs.cache import CostQuery, KnownCosts, Logs
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.problem.study import LARGEST, SMALLEST_COST

# Upper limit of the standard deviation of a log cost; above it, expected costs are meaningless.
LARGEST_DEVIATION = 2.0
# The standard deviation of a log cost if nothing is known.
FIRST_DEVIATION = 1.5
# Steps of a Kronecker sequence over datasets and models.
_DATASET_STEP, _MODEL_STEP, _TAIL = math.sqrt(2.0), math.sqrt(3.0), 1e-3
_LOWEST, _HIGHEST = math.log(SMALLEST_COST), math.log(LARGEST)


class CostBelief(NamedTuple):
    """A belief about the costs on one dataset.

    name     meaning
    dataset  name of the dataset
    prior    prior of the log costs; None before anything was learned
    logs     known log costs of the dataset, by column of the prior; never changed in place
    order    number of the dataset, in order of arrival
    trials   number of ended trials
    bias     mean of log duration minus log estimate
    error    variance of the same; None if estimates are not corrected
    known    cache of posteriors and predictions
    """

    dataset: str
    prior: BlockPrior | None
    logs: Logs
    order: int
    trials: int
    bias: float
    error: float | None
    known: KnownCosts


class CostQuestion(NamedTuple):
    """The costs to compute: `columns` of the belief's prior; `declared` is NaN if not declared."""

    belief: CostBelief
    columns: Integers | None  # None only if the belief has no prior
    declared: Vector


def expected_costs(questions: Sequence[CostQuestion]) -> list[Vector]:
    """Return the expected costs, one array per question, each as if it were the only question."""
    lengths = [len(question.declared) for question in questions]
    declared = np.concatenate([question.declared for question in questions])
    mean, sigma = _predictions(questions, lengths)
    undeclared = np.isnan(declared)
    costs = declared.copy()
    if undeclared.any():
        costs[undeclared] = _guessed(questions, lengths, mean, sigma)[undeclared]
    correct = [question.belief.error is not None for question in questions]
    if any(correct):
        chosen = np.repeat(correct, lengths) & ~undeclared
        costs[chosen] = _corrected(questions, lengths, mean, sigma, declared)[chosen]
    ends = np.cumsum(lengths)
    return np.split(costs, ends[:-1])


def _predictions(questions: Sequence[CostQuestion], lengths: list[int]) -> tuple[Vector, Vector]:
    """Return mean and standard deviation of every requested log cost, question by question."""
    total = sum(lengths)
    mean, sigma = np.zeros(total), np.full(total, FIRST_DEVIATION)
    starts = np.cumsum([0, *lengths])
    indices = [index for index, one in enumerate(questions) if one.belief.prior is not None]
    if indices:
        known = questions[indices[0]].belief.known
        queries = [_query(questions[index].belief) for index in indices]
        for index, prediction in zip(indices, known.predictions(queries), strict=True):
            columns = questions[index].columns
            span = slice(starts[index], starts[index + 1])
            mean[span] = prediction.mean[columns]
            sigma[span] = prediction.sigma[columns]
    return mean, np.minimum(sigma, LARGEST_DEVIATION)


def _query(belief: CostBelief) -> CostQuery:
    assert belief.prior is not None
    return CostQuery(belief.dataset, belief.prior, belief.logs)


def _guessed(
    questions: Sequence[CostQuestion], lengths: list[int], mean: Vector, sigma: Vector
) -> Vector:
    """Return expected undeclared costs; varied by dataset while few trials have ended."""
    orders = np.repeat([question.belief.order * _DATASET_STEP for question in questions], lengths)
    steps = orders + np.concatenate([np.arange(length) for length in lengths]) * _MODEL_STEP
    draws = ndtri(np.clip((0.5 + steps) % 1.0, _TAIL, 1.0 - _TAIL))
    trials = np.repeat([1.0 + question.belief.trials for question in questions], lengths)
    guess = mean + 0.5 * sigma * sigma + draws * sigma / trials
    costs: Vector = np.exp(np.clip(guess, _LOWEST, _HIGHEST))
    return costs


def _corrected(
    questions: Sequence[CostQuestion],
    lengths: list[int],
    mean: Vector,
    sigma: Vector,
    declared: Vector,
) -> Vector:
    """Combine declared and predicted costs, each weighted by its accuracy."""
    beliefs = [question.belief for question in questions]
    bias = np.repeat([belief.bias for belief in beliefs], lengths)
    error = np.repeat([1.0 if b.error is None else b.error for b in beliefs], lengths)
    variance = np.maximum(sigma * sigma, 1e-12)
    combined = ((np.log(declared) + bias) * variance + mean * error) / (variance + error)
    left = 0.5 * variance * error / (variance + error)
    corrected: Vector = np.exp(np.clip(combined + left, _LOWEST, _HIGHEST))
    return corrected
