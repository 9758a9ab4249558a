"""One fit: from what was observed, and the parameters before, the parameters after.

A pure function: no state, no chance, no clock, so that a replay makes the same parameters. Its
work is bounded by a budget, whatever the number of studies: beyond it, a fit looks at some of them.

    1. choose a warp of the scores                               (`warp`)
    2. fit the target of the covariance to a sample of studies   (`target`)
    3. choose the strengths by leaving out studies of the sample (`strength`)
    4. a few passes of MAP-EM from where the last fit ended      (`em`)
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

# Multiplications of one pass over the studies, and of all passes together.
PASS_BUDGET, BUDGET = 5e7, 1e8
# How many passes of EM there are at most: from the target, and from the last fit.
FIRST_PASSES, PASSES = 12, 4
# The strengths and the target are judged by so many studies, so many scores of each.
SAMPLE, DEPTH = 48, 32
# The warp is judged by all studies, so many scores of each.
WARP_DEPTH = 64
# The deviation is guessed to be this share of the scores' size; that is worth one score.
GUESS = 0.1
# A variance below this could not be divided by.
SMALLEST_VARIANCE = 1e-280
# Fewer studies than this cannot be told apart: the strengths stay at their defaults.
STUDIES = 3
# A new model is foreseen from so many of those known, so that it takes no longer with many.
MOST_KIN = 128
# The least that the scores of models differ by, however alike, over their variance: weights that
# tell models apart by less would be huge.
KIN_NOISE = 0.01
# Degrees of freedom that make a t distribution a Gaussian.
GAUSSIAN = 1e9


@dataclass(frozen=True, slots=True)
class Switches:
    """Pieces of the learned prior, each of which can be switched off to see its effect.

    serving    keep learning from the studies being served, not from history alone
    warp       bend scores near a ceiling
    scales     let every study have a scale of its own (a t, not a Gaussian)
    strengths  choose the strengths from data, not by hand
    """

    serving: bool = True
    warp: bool = True
    scales: bool = True
    strengths: bool = True


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is believed of any study, in warped units."""

    mean: Vector
    covariance: Matrix
    warp: Warp = field(default_factory=Warp)
    strengths: Strengths = field(default_factory=Strengths)
    target: Target = field(default_factory=Target)

    @property
    def sound(self) -> bool:
        """Whether all of it is numbers."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.covariance).all())


def fit(
    observed: Sequence[Observed],
    models: int,
    features: Features | Kinship | None = None,
    before: Parameters | None = None,
    switches: Switches = Switches(),  # noqa: B008 - frozen
    turn: int = 0,
) -> Parameters | None:
    """The parameters that the observations give; None if there is none.

    `turn` counts fits: where not all studies can be afforded, each fit takes others.
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
        # Under the target, so that nothing of the study left out is in what stands for the others.
        plain = expect(packed, np.full(models, common), goal, strengths.freedom)
        strengths = _shaped(choose(places, sample, plain, goal, common, strengths), switches)
    passes = FIRST_PASSES if covariance is None else PASSES
    covariance = goal if covariance is None else covariance
    for _ in range(int(max(1, min(passes, BUDGET // _work(warped, models))))):
        moments = expect(packed, mean, covariance, strengths.freedom)
        mean, covariance = maximise(moments, goal, float(mean.mean()), strengths)
    return Parameters(mean, covariance, warp, strengths, target)


def extended(parameters: Parameters, models: int, kinship: Kinship | None = None) -> Parameters:
    """Parameters with models added, each believed to be like its kin where kinship is known.

    Otherwise each is the average of the others plus a deviation its own. Either way a new model is
    a mixture of the known ones plus noise, which is a covariance whatever the one before; and the
    noise is such that a new model varies about as much as the average model does.
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
    """New models follow from the known ones that are most like them, as the target says.

    With A and L of `regression` under the target: y_new = m0 + A (y - m0) + noise with covariance
    v L. For models that nothing was observed of, that is where EM would end: data say nothing of
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
    """The mean of every model as far as it is not one study's own doing.

    A model that one study tried has its mean from there: that study's score does not stand out
    from it, and would say nothing of how models vary. Such models are many where studies bring
    configurations of their own.
    """
    tried = np.concatenate([study.models for study in observed])
    count = np.maximum(np.bincount(tried, minlength=len(mean)), 1)
    common = float(mean.mean())
    about: Vector = common + (1.0 - 1.0 / count) * (mean - common)
    return about


def _shaped(strengths: Strengths, switches: Switches) -> Strengths:
    return strengths if switches.scales else replace(strengths, freedom=GAUSSIAN, tail=GAUSSIAN)


def _guess(observed: Sequence[Observed], warp: Warp) -> float:
    """A variance to begin with, in warped units: a share of the scores' size, squared.

    Scores may be large and far from zero alike: their own variance is the most it can be.
    """
    scores = np.concatenate([study.scores for study in observed])
    unit = float(warp.unit(float(np.median(scores))))
    guess = (GUESS * (float(np.abs(scores).mean()) or 1.0) / unit) ** 2
    variance = float(scores.var()) / unit**2
    return max(min(guess, variance) if variance > 0.0 else guess, SMALLEST_VARIANCE)


def _work(observed: Sequence[Observed], models: int) -> float:
    """Multiplications of one pass of EM."""
    depth = np.array([len(study.models) for study in observed], dtype=np.float64)
    return float((depth * models * (models + 0.5 * depth)).sum() + len(depth) * models**2)


def _affordable(observed: list[Observed], models: int, turn: int) -> list[Observed]:
    """All studies; or, if a pass over all would cost too much, one of every so many."""
    stride = min(len(observed), max(1, int(np.ceil(_work(observed, models) / PASS_BUDGET))))
    return observed[turn % stride :: stride]


def _sample(observed: Sequence[Observed]) -> tuple[Index, Batch]:
    """The places of the studies of which most was observed; of each, scores spread over its run."""
    deepest = sorted(range(len(observed)), key=lambda place: -len(observed[place].models))[:SAMPLE]
    return np.array(deepest), pack([_thinned(observed[place], DEPTH) for place in deepest])


def _thinned(study: Observed, depth: int) -> Observed:
    count = len(study.models)
    if count <= depth:
        return study
    places = (np.arange(depth) * count) // depth
    return Observed(study.models[places], study.scores[places])
