"""Choose the strengths from data, by leave-one-study-out cross-validation.

Every study of a sample is predicted score by score, in the order observed, with parameters fitted
to the other studies. The strengths whose predictions have the highest log density win. Decisions
use the same predictive density, so the strengths are judged by what they are used for.

The moments of the other studies are those of all studies minus the study's own, restricted to the
models that the study observed:

    sum w y^ - w_s y_s,   sum [w y^ y^' + C] - w_s y_s y_s',   sum w - w_s

The M-step of `em` turns them into a mean and a covariance.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from bentham.core.gaussian.validation import Matrix
from bentham.core.learning.conditioning import innovations
from bentham.core.learning.data import Batch, Index
from bentham.core.learning.em import Moments, Strengths

TARGETS = (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
MEANS = (0.1, 1.0, 10.0, 100.0)
FREEDOMS = (2.0, 4.0, 8.0, 16.0, 64.0)
TAILS = (3.0, 5.0, 64.0)
# Overconfidence costs more than underconfidence: a lighter tail is chosen only if its log score is
# better by this much, odds of e^10.
MARGIN = 10.0
# Among target strengths whose log scores are within this much of the best, the largest is chosen.
TOLERANCE = 3.0


def log_t(x: npt.NDArray[np.float64], freedom: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the log density of Student's t distribution."""
    f = np.asarray(freedom, dtype=np.float64)
    constant = gammaln((f + 1.0) / 2.0) - gammaln(f / 2.0) - 0.5 * np.log(f * np.pi)
    result: npt.NDArray[np.float64] = constant - (f + 1.0) / 2.0 * np.log1p(x * x / f)
    return result


def log_score(
    innovation: Matrix, sigma: Matrix, freedom: float, tail: float
) -> npt.NDArray[np.float64]:
    """Return the log density of each score given those before it, as decisions predict it."""
    before = np.cumsum(innovation * innovation, axis=-2) - innovation * innovation
    known = sigma > 0.0
    seen: Matrix = np.cumsum(known, axis=-2) - known
    scale = np.sqrt((freedom + before) / (freedom + seen))
    density = log_t(innovation / scale, np.minimum(freedom + seen, tail))
    result: npt.NDArray[np.float64] = np.where(
        known, density - np.log(np.where(known, sigma, 1.0) * scale), 0.0
    )
    return result


def choose(
    places: Index,
    sample: Batch,
    moments: Moments,
    target: Matrix,
    common: float,
    strengths: Strengths,
) -> Strengths:
    """Return the strengths that predict left-out studies best; chosen one after the other."""
    model, live = sample.model.T, sample.live.T  # (depth, datasets): batch last, for speed
    pair, score = live[:, np.newaxis] & live, sample.score.T
    weight = moments.weights[places]
    first = moments.first[model] - weight * score
    second = moments.second[model[:, np.newaxis], model] - weight * _outer(score)
    goal = target[model[:, np.newaxis], model]
    left_weight = moments.weight - weight

    def predicted(nu: float, kappa: float) -> tuple[Matrix, Matrix]:
        mean = (first + kappa * common) / (left_weight + kappa)
        cross = first[:, np.newaxis] * mean
        scatter = second - cross - np.swapaxes(cross, 0, 1) + left_weight * _outer(mean)
        scatter += kappa * _outer(mean - common)
        covariance = (scatter + nu * goal) / (moments.datasets + nu)
        residual = np.where(live, score - mean, 0.0)
        innovation, sigma = innovations(_padded(covariance, pair), residual)
        return np.where(live, innovation, 0.0), np.where(live, sigma, 0.0)

    def total(prediction: tuple[Matrix, Matrix], freedom: float, tail: float) -> float:
        return float(log_score(*prediction, freedom, tail).sum())

    freedom, tail, kappa = strengths.freedom, strengths.tail, strengths.mean
    by_target = {nu: total(predicted(nu, kappa), freedom, tail) for nu in TARGETS}
    # The sample represents all studies, which together can detect smaller differences.
    tolerance = TOLERANCE * len(places) / moments.datasets
    nu = max(nu for nu in TARGETS if by_target[nu] >= max(by_target.values()) - tolerance)
    kappa = max(MEANS, key=lambda kappa: total(predicted(nu, kappa), freedom, tail))
    prediction = predicted(nu, kappa)
    scores = {
        tail: max((total(prediction, freedom, tail), freedom) for freedom in FREEDOMS)
        for tail in TAILS
    }
    enough = max(scores.values())[0] - MARGIN
    tail = next(tail for tail in TAILS if scores[tail][0] >= enough)
    return Strengths(nu, kappa, scores[tail][1], tail)


def _outer(vectors: Matrix) -> npt.NDArray[np.float64]:
    outer: npt.NDArray[np.float64] = vectors[:, np.newaxis] * vectors
    return outer


def _padded(
    covariance: npt.NDArray[np.float64], pair: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return the covariance with the identity in the padding."""
    identity = np.eye(len(covariance))[:, :, np.newaxis]
    return np.where(pair, covariance, identity)
