"""One fit: compute new parameters from the observations and the previous parameters.

A pure function without state, randomness or clock, so that a replay computes the same parameters.
Its work is bounded by a budget: if there are too many studies, a fit uses some of them.

    1. choose a warp of the scores                               (`warp`)
    2. fit the target of the covariance to a sample of studies   (`target`)
    3. choose the strengths by leaving out studies of the sample (`regularization`)
    4. run a few passes of MAP-EM, starting from the last fit    (`em`)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.gaussian.warp import Warp
from bentham.core.learning.conditioning import regression
from bentham.core.learning.data import Batch, Index, Observed, batches, pack
from bentham.core.learning.em import Strengths, expect, maximise
from bentham.core.learning.regularization import choose
from bentham.core.learning.similarity import Kinship
from bentham.core.learning.target import Features, Target, fit_target
from bentham.core.learning.warp import fit_warp

# Maximum number of multiplications of one pass over the studies, and of all passes.
PASS_BUDGET, BUDGET = 5e7, 1e8
# Maximum number of EM passes: starting from the target, and from the last fit.
FIRST_PASSES, PASSES = 12, 4
# The sample for target and strengths: maximum number of studies, and of scores of each.
SAMPLE, DEPTH = 48, 32
# Maximum number of scores of each study for choosing the warp; all studies are used.
WARP_DEPTH = 64
# First guess of the standard deviation, as a share of the scores' size; it counts as one score.
GUESS = 0.1
# A smaller variance could not be divided by.
SMALLEST_VARIANCE = 1e-280
# With fewer studies than this, the data cannot choose the strengths: they keep their defaults.
STUDIES = 3
# A new model is predicted from at most this many known models, to bound the time.
MOST_KIN = 128
# Minimum difference between the scores of similar models, as a share of their variance: without
# it, models with almost equal features would get huge weights.
KIN_NOISE = 0.01
# With this many degrees of freedom, a t distribution is a Gaussian.
GAUSSIAN = 1e9


@dataclass(frozen=True, slots=True)
class Switches:
    """Pieces of the learned prior; each can be switched off to measure its effect.

    serving    learn from the studies being served, not only from history
    warp       warp scores near a ceiling
    scales     give every study its own scale (a t distribution, not a Gaussian)
    strengths  choose the strengths from data instead of using their defaults
    """

    serving: bool = True
    warp: bool = True
    scales: bool = True
    strengths: bool = True


@dataclass(frozen=True, slots=True)
class Parameters:
    """The learned beliefs, which hold for any study, in warped units."""

    mean: Vector
    covariance: Matrix
    warp: Warp = field(default_factory=Warp)
    strengths: Strengths = field(default_factory=Strengths)
    target: Target = field(default_factory=Target)

    @property
    def sound(self) -> bool:
        """Whether mean and covariance are finite."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.covariance).all())


def fit(
    observed: Sequence[Observed],
    models: int,
    features: Features | Kinship | None = None,
    before: Parameters | None = None,
    switches: Switches = Switches(),  # noqa: B008 - frozen
    turn: int = 0,
) -> Parameters | None:
    """Return the parameters fitted to the observations; None if there are no observations.

    `turn` counts fits: if the budget does not allow all studies, each fit uses other ones.
    """
    known = [dataset for dataset in observed if len(dataset.models)]
    if not known:
        return None
    known = _affordable(known, models, turn)
    warp = (
        fit_warp([_thinned(study, WARP_DEPTH) for study in known], models)
        if switches.warp
        else Warp()
    )
    warped = [Observed(study.models, warp(study.scores)) for study in known]
    strengths = _shaped(before.strengths if before else Strengths(), switches)
    scores = np.concatenate([study.scores for study in warped])
    mean, covariance = np.full(models, float(scores.mean())), None
    if before is not None and before.warp == warp:
        mean, covariance = before.mean, before.covariance
    places, sample = _sample(warped)
    likeness = features.distances() if isinstance(features, Kinship) else features
    target, variance = fit_target(
        sample,
        _of_others(mean, warped) if isinstance(features, Kinship) else mean,
        likeness,
        before.target if before else Target(),
        strengths.freedom,
        _guess(known, warp),
    )
    goal = variance * target.matrix(models, likeness)
    packed = list(batches(warped, models))
    common = float(mean.mean())
    if switches.strengths and len(known) >= STUDIES:
        # Under the target, so that no information from the left-out study enters the moments of
        # the other studies.
        plain = expect(packed, np.full(models, common), goal, strengths.freedom)
        strengths = _shaped(choose(places, sample, plain, goal, common, strengths), switches)
    passes = FIRST_PASSES if covariance is None else PASSES
    covariance = goal if covariance is None else covariance
    for _ in range(int(max(1, min(passes, BUDGET // _work(warped, models))))):
        moments = expect(packed, mean, covariance, strengths.freedom)
        mean, covariance = maximise(moments, goal, float(mean.mean()), strengths)
    return Parameters(mean, covariance, warp, strengths, target)


def extended(parameters: Parameters, models: int, kinship: Kinship | None = None) -> Parameters:
    """Return the parameters extended by new models.

    If kinship is known, a new model is predicted from similar models; otherwise it is the average
    of the known models plus its own deviation. Either way it is a mixture of the known models plus
    noise, so the result is a valid covariance. The noise is chosen so that a new model varies about
    as much as the average model.
    """
    if kinship is not None and parameters.target.smoothness > 0.0:
        return _like_kin(parameters, models, kinship)
    before = len(parameters.mean)
    covariance = np.zeros((models, models))
    covariance[:before, :before] = parameters.covariance
    average = parameters.covariance.mean(axis=0)
    covariance[before:, :before] = average
    covariance[:before, before:] = average[:, np.newaxis]
    covariance[before:, before:] = average.mean()
    noise = max(float(np.diag(parameters.covariance).mean() - average.mean()), 0.0)
    covariance[before:, before:] += noise * np.eye(models - before)
    mean = np.full(models, parameters.mean.mean())
    mean[:before] = parameters.mean
    return replace(parameters, mean=mean, covariance=covariance)


def _like_kin(parameters: Parameters, models: int, kinship: Kinship) -> Parameters:
    """Predict new models from the most similar known models, under the target.

    With A and L of `regression` under the target: y_new = m0 + A (y - m0) + noise with covariance
    v L. For models without observations, EM would converge to the same: the data do not determine
    A, and its mode under the inverse Wishart is the target's.
    """
    before, target = len(parameters.mean), parameters.target
    likeness = kinship.distances(before).correlation(target.lengths)[:, :before].max(axis=0)
    kin = np.sort(np.argsort(-likeness, kind="stable")[:MOST_KIN])
    some = kinship.only(np.append(kin, np.arange(before, models)))
    matrix = target.matrix(len(some.family), some.distances())
    weights, left = regression(matrix, len(kin), KIN_NOISE)
    cross = contract("nk,kj->nj", weights, parameters.covariance[kin])
    inner = contract("nk,mk->nm", cross[:, kin], weights)
    inner += np.diag(parameters.covariance).mean() * left
    common = float(parameters.mean.mean())
    new = common + contract("nk,k->n", weights, parameters.mean[kin] - common)
    covariance = np.block([[parameters.covariance, cross.T], [cross, (inner + inner.T) / 2.0]])
    return replace(parameters, mean=np.append(parameters.mean, new), covariance=covariance)


def _of_others(mean: Vector, observed: Sequence[Observed]) -> Vector:
    """Return the mean of every model, minus the contribution of a single study.

    If only one study tried a model, the model's mean comes from that study's score. The score then
    does not deviate from the mean and shows nothing of how models vary. There are many such models
    if studies bring their own configurations.
    """
    tried = np.concatenate([study.models for study in observed])
    count = np.maximum(np.bincount(tried, minlength=len(mean)), 1)
    common = float(mean.mean())
    about: Vector = common + (1.0 - 1.0 / count) * (mean - common)
    return about


def _shaped(strengths: Strengths, switches: Switches) -> Strengths:
    return strengths if switches.scales else replace(strengths, freedom=GAUSSIAN, tail=GAUSSIAN)


def _guess(observed: Sequence[Observed], warp: Warp) -> float:
    """Return a first guess of the variance, in warped units: a share of the scores' size, squared.

    It is at most the variance of the scores, which may be small compared to their size.
    """
    scores = np.concatenate([study.scores for study in observed])
    unit = float(warp.unit(float(np.median(scores))))
    guess = (GUESS * (float(np.abs(scores).mean()) or 1.0) / unit) ** 2
    variance = float(scores.var()) / unit**2
    return max(min(guess, variance) if variance > 0.0 else guess, SMALLEST_VARIANCE)


def _work(observed: Sequence[Observed], models: int) -> float:
    """Return the number of multiplications of one EM pass."""
    depth = np.array([len(study.models) for study in observed], dtype=np.float64)
    return float((depth * models * (models + 0.5 * depth)).sum() + len(depth) * models**2)


def _affordable(observed: list[Observed], models: int, turn: int) -> list[Observed]:
    """Return all studies or, if a pass over all would exceed the budget, every n-th one."""
    stride = min(len(observed), max(1, int(np.ceil(_work(observed, models) / PASS_BUDGET))))
    return observed[turn % stride :: stride]


def _sample(observed: Sequence[Observed]) -> tuple[Index, Batch]:
    """Return the studies with the most scores: their indices, and scores spread over each run."""
    deepest = sorted(range(len(observed)), key=lambda place: -len(observed[place].models))[:SAMPLE]
    return np.array(deepest), pack([_thinned(observed[place], DEPTH) for place in deepest])


def _thinned(study: Observed, depth: int) -> Observed:
    count = len(study.models)
    if count <= depth:
        return study
    places = (np.arange(depth) * count) // depth
    return Observed(study.models[places], study.scores[places])
