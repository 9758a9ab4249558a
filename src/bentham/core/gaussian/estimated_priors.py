"""Estimate a shared prior from history: sample moments, or a kernel over the models' features.

    symbol  shape              meaning
    Z       (studies, models)  scores of historical studies; NaN where a model was not run
    R       (models, models)   the kernel's correlation, from the features and length scales
    m, v    scalars            the kernel prior's mean and variance, the same for every model

`sample_prior` is the paper's: mean and sample covariance (ddof 1) of complete studies.
`kernel_prior` uses the covariance v R + jitter I and the mean m. Given R and v, the most likely m
is the generalised least-squares mean. v, and the length scales unless given, maximise the
likelihood of Z with studies as independent draws (Rasmussen and Williams, Eq. 2.30 and 5.8).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.prior import SharedPrior
from bentham.core.gaussian.validation import Matrix, Vector, as_array, as_numbers, checked_jitter
from bentham.errors import InvalidPrior

DEFAULT_JITTER = 1e-6
# The search for length scales starts at these multiples of each feature's range; the best wins.
_STARTS = (0.1, 0.3, 1.0)
# Bounds of log(length scale / range of the feature) and of log(v / variance of Z).
_LENGTH_BOUNDS = (np.log(1e-3), np.log(1e2))
_VARIANCE_BOUNDS = (np.log(1e-6), np.log(1e4))


def sample_prior(
    models: Sequence[str], history: npt.ArrayLike, jitter: float = DEFAULT_JITTER
) -> SharedPrior:
    """Return the paper's prior: mean and sample covariance of complete historical studies.

    Args:
        models: Names of the models; no duplicates.
        history: Scores of past studies, (studies, models), with at least 2 studies and no NaN.
        jitter: Added to the diagonal of the covariance. Default: 1e-6.

    Raises:
        InvalidPrior: A score is missing or infinite, or there are too few studies. Drop the
            incomplete study, or use `kernel_prior`, which accepts missing scores.
    """
    scores = _as_history(models, history)
    missing = np.argwhere(np.isnan(scores))
    if len(missing):
        study, model = missing[0]
        raise InvalidPrior(
            f"history[{study}, {model}] is missing (model {models[model]!r}); the sample prior "
            "needs complete studies: drop that study, or use a kernel prior"
        )
    if len(scores) < 2:
        raise InvalidPrior(
            f"the sample prior needs at least 2 historical studies, got {len(scores)}; add some"
        )
    mean = scores.sum(axis=0) / len(scores)
    covariance = np.zeros((len(models), len(models)))
    for deviation in scores - mean:  # summed in a fixed order: the same bits on every machine
        covariance += np.outer(deviation, deviation)
    return SharedPrior(models, mean, covariance / (len(scores) - 1), jitter)


def kernel_prior(
    models: Sequence[str],
    features: npt.ArrayLike,
    history: npt.ArrayLike,
    kernel: str = "matern52",
    length_scales: npt.ArrayLike | None = None,
    jitter: float = DEFAULT_JITTER,
) -> SharedPrior:
    """Return a prior whose covariance is a kernel over the models' features, fitted to history.

    Args:
        models: Names of the models; no duplicates.
        features: Features of the models, (models, features), or (models,) for a single one.
        history: Scores of past studies, (studies, models); NaN where a model was not run. At
            least one score.
        kernel: Name in `KERNELS`. Default: "matern52".
        length_scales: Length scale of each feature, (features,) or a scalar for all; above 0, in
            the units of the features. Default: fitted by maximum likelihood.
        jitter: Added to the diagonal of the covariance. Default: 1e-6.

    Raises:
        InvalidPrior: A shape or value is invalid, or the covariance is singular because models
            have equal features; pass a jitter above 0, or features that distinguish the models.
        InvalidInput: The kernel is unknown.
    """
    array = as_array(features, "features", "model and feature")
    array = array[:, np.newaxis] if array.ndim == 1 else array
    width = array.shape[1] if array.ndim == 2 else 1
    inputs = as_numbers(array, (len(models), width), "features", "model and feature")
    checked_jitter(jitter)
    scores = _as_history(models, history)
    likelihood = _Likelihood(scores, jitter)
    if length_scales is None:
        lengths, variance = _likeliest(likelihood, kernel, inputs)
    else:
        lengths = _as_length_scales(length_scales, width)
        variance = _likeliest_variance(likelihood, correlation(kernel, inputs, lengths))
    matrix = correlation(kernel, inputs, lengths)
    try:
        mean = likelihood.at(matrix, variance).mean
    except LinAlgError:
        raise InvalidPrior(
            "the kernel's covariance is singular: models have equal or almost equal features; "
            "pass a jitter above zero, or features that distinguish the models"
        ) from None
    return SharedPrior(models, np.full(len(models), mean), variance * matrix, jitter)


def _as_length_scales(length_scales: npt.ArrayLike, features: int) -> Vector:
    array = as_array(length_scales, "length_scales", "feature")
    lengths = np.full(features, array) if array.ndim == 0 else array
    lengths = as_numbers(lengths, (features,), "length_scales", "feature")
    if not np.all(lengths > 0.0):
        raise InvalidPrior(f"length_scales is {lengths}; each must be above zero")
    return lengths


def _as_history(models: Sequence[str], history: npt.ArrayLike) -> Matrix:
    scores = as_array(history, "history", "study and model")
    if scores.ndim != 2 or scores.shape[1] != len(models) or not len(scores):
        raise InvalidPrior(
            f"history has shape {scores.shape}; expected (studies, {len(models)}), "
            "one row per study and one column per model"
        )
    infinite = np.argwhere(np.isinf(scores))
    if len(infinite):
        raise InvalidPrior(f"history[{infinite[0][0]}, {infinite[0][1]}] is infinite; drop it")
    return scores


class _Fit(NamedTuple):
    mean: float
    log_likelihood: float


class _Likelihood:
    """The likelihood of a history with missing entries, given a constant mean and a covariance."""

    def __init__(self, scores: Matrix, jitter: float):
        self._jitter = jitter
        patterns: dict[bytes, list[Vector]] = {}
        for study in scores:
            patterns.setdefault(np.isfinite(study).tobytes(), []).append(study)
        # Studies that ran the same models share one factorisation.
        self._groups = [
            (np.flatnonzero(np.isfinite(group[0])), np.array(group)) for group in patterns.values()
        ]
        self._groups = [group for group in self._groups if len(group[0])]
        if not self._groups:
            raise InvalidPrior(
                "history contains no scores; give at least one to fit the kernel prior to"
            )
        known = scores[np.isfinite(scores)]
        # Scales the search for v. If all scores are equal, the variance must still be above 0.
        self.spread = max(float(known.var()), jitter, 1e-12)

    def at(self, matrix: Matrix, variance: float) -> _Fit:
        """Return the most likely mean and its log likelihood, up to a constant."""
        precision = weighted = squares = log_determinant = 0.0
        for columns, studies in self._groups:
            covariance = variance * matrix[np.ix_(columns, columns)]
            covariance[np.diag_indices_from(covariance)] += self._jitter
            factor = cho_factor(covariance, lower=True)
            ones, scores = np.ones(len(columns)), studies[:, columns]
            solved = cho_solve(factor, scores.T)
            half = cho_solve(factor, ones)
            precision += len(studies) * float(ones @ half)
            weighted += float(scores.sum(axis=0) @ half)
            squares += float((scores.T * solved).sum())
            log_determinant += 2.0 * len(studies) * float(np.log(np.diag(factor[0])).sum())
        mean = weighted / precision
        misfit = squares - mean * weighted
        return _Fit(mean, -0.5 * (misfit + log_determinant))


def _minimised(
    objective: Callable[[Vector], float], starts: list[Vector], bounds: list[tuple[float, float]]
) -> Vector:
    """Return the best result of several local searches, each from a fixed start."""
    from scipy.optimize import minimize  # imported here: the import is slow and rarely needed

    found = [minimize(objective, start, bounds=bounds, method="L-BFGS-B") for start in starts]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x)


def _negative(likelihood: _Likelihood, matrix: Matrix, variance: float) -> float:
    try:
        return -likelihood.at(matrix, variance).log_likelihood
    except LinAlgError:  # numerically singular: the lowest likelihood possible
        return float(np.finfo(float).max) / 1e10


def _likeliest_variance(likelihood: _Likelihood, matrix: Matrix) -> float:
    def objective(logs: Vector) -> float:
        return _negative(likelihood, matrix, likelihood.spread * float(np.exp(logs[0])))

    best = _minimised(objective, [np.zeros(1)], [_VARIANCE_BOUNDS])
    return likelihood.spread * float(np.exp(best[0]))


def _likeliest(likelihood: _Likelihood, kernel: str, features: Matrix) -> tuple[Vector, float]:
    span = np.ptp(features, axis=0)
    span = np.where(span > 0, span, 1.0)

    def objective(logs: Vector) -> float:
        matrix = correlation(kernel, features, span * np.exp(logs[:-1]))
        return _negative(likelihood, matrix, likelihood.spread * float(np.exp(logs[-1])))

    starts = [np.append(np.full(len(span), np.log(start)), 0.0) for start in _STARTS]
    best = _minimised(objective, starts, [_LENGTH_BOUNDS] * len(span) + [_VARIANCE_BOUNDS])
    return span * np.exp(best[:-1]), likelihood.spread * float(np.exp(best[-1]))
