"""Choose the most likely warp of the scores; the density of a score z is that of y times dy/dz.

The likelihood is that of a simple model of all scores: the level of the study, plus the effect of
the model, plus noise with the study's own scale (a t distribution).
"""

import math
from collections.abc import Sequence

import numpy as np

from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.warp import Warp
from bentham.core.learning.data import Batch, Observed, pack

# Softness divided by the spread of the scores: from an almost straight warp to a strong one.
SHARES = (10.0, 3.0, 1.0, 1 / 3, 1 / 10, 1 / 30)
# Minimum number of studies with at least two scores; with fewer, scores are not warped.
STUDIES = 3
PASSES = 3
# A spread below this share of the largest score is rounding error.
ALIKE = 1e-9
FREEDOM = 4.0


def fit_warp(observed: Sequence[Observed], models: int) -> Warp:
    """Return the warp under which an additive model of the scores is most likely."""
    batch = pack([dataset for dataset in observed if len(dataset.models) > 1])
    if len(batch.model) < STUDIES:
        return Warp()
    known = batch.score[batch.live]
    top, spread = float(known.max()), float(known.std())
    if spread <= ALIKE * float(np.abs(known).max()):
        return Warp()
    options = [Warp(), *(Warp(top, _rounded(share * spread)) for share in SHARES)]
    # max returns the first of equals, which is the straightest.
    return max(options, key=lambda warp: _likelihood(batch, warp, models))


def _rounded(softness: float) -> float:
    """Round to the nearest half power of ten, so that the warp rarely changes between fits."""
    return float(10.0 ** (round(2.0 * math.log10(softness)) / 2.0))


def _likelihood(batch: Batch, warp: Warp, models: int) -> float:
    """Return the log likelihood of y = level of study + effect of model + noise of the study."""
    y = np.where(batch.live, warp(batch.score), 0.0)
    count = batch.counts
    effect = np.zeros(models)
    weight = np.ones(len(y))
    variance = 1.0
    for _ in range(PASSES):
        level = np.where(batch.live, y - effect[batch.model], 0.0).sum(axis=1) / count
        rest = np.where(batch.live, y - level[:, np.newaxis], 0.0)
        shares = np.where(batch.live, weight[:, np.newaxis], 0.0)
        sums = np.bincount(batch.model.ravel(), (shares * rest).ravel(), models)
        effect = sums / (np.bincount(batch.model.ravel(), shares.ravel(), models) + 1.0)
        rest = np.where(batch.live, rest - effect[batch.model], 0.0)
        squares = contract("bi,bi->b", rest, rest)
        variance = max(float((weight * squares).sum() / (count - 1.0).sum()), 1e-300)
        weight = (FREEDOM + count - 1.0) / (FREEDOM + squares / variance)
    spread = max(float(level.var()), 1e-300)
    density = (
        -0.5 * (count - 1.0) * math.log(variance)
        - 0.5 * (FREEDOM + count - 1.0) * np.log1p(squares / (FREEDOM * variance))
        - 0.5 * math.log(spread)
    )
    slopes = 0.0
    if not warp.straight:
        slopes = -float(np.log(warp.softness + warp.top - batch.score[batch.live]).sum())
    return float(density.sum()) + slopes
