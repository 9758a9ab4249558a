"""Stationary kernels over the features of models.

symbol  meaning
r       distance after each feature is divided by its length scale
k(0)    1: a kernel here is a correlation; the variance multiplies it
"""

import math
from collections.abc import Callable

import numpy as np

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.errors import InvalidInput

# At a distance of this many length scales every kernel is 0 and its formula is still finite.
FARTHEST = 1e4

_ROOT_THREE, _ROOT_FIVE = math.sqrt(3.0), math.sqrt(5.0)


def _matern12(r: Matrix) -> Matrix:
    return np.exp(-r)


def _matern32(r: Matrix) -> Matrix:
    return (1.0 + _ROOT_THREE * r) * np.exp(-_ROOT_THREE * r)


def _matern52(r: Matrix) -> Matrix:
    return (1.0 + _ROOT_FIVE * r + 5.0 / 3.0 * r * r) * np.exp(-_ROOT_FIVE * r)


def _rbf(r: Matrix) -> Matrix:
    return np.exp(-0.5 * r * r)


KERNELS: dict[str, Callable[[Matrix], Matrix]] = {
    "matern12": _matern12,
    "matern32": _matern32,
    "matern52": _matern52,
    "rbf": _rbf,
}


def correlation(kernel: str, features: Matrix, length_scales: Vector | float) -> Matrix:
    """Return the correlation matrix of models with these features, one row per model."""
    if kernel not in KERNELS:
        raise InvalidInput(f"unknown kernel {kernel!r}; choose one of {', '.join(KERNELS)}")
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # beyond FARTHEST the exact distance does not matter
        scaled = features / length_scales
        difference = scaled[:, np.newaxis, :] - scaled[np.newaxis, :, :]
        squares = np.nan_to_num(difference * difference, nan=0.0, posinf=FARTHEST**2)
        distance = np.sqrt(squares.sum(axis=-1))
    return KERNELS[kernel](np.minimum(distance, FARTHEST))
