"""Validation of means and covariances; errors name the invalid entry and the remedy."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bentham.core.problem.study import LARGEST
from bentham.errors import InvalidPrior

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Rounding may make a covariance asymmetric or indefinite by this share of its largest entry.
RELATIVE_TOLERANCE = 1e-8


def as_array(values: npt.ArrayLike, name: str, unit: str) -> Vector:
    """Return the values as floats, in any shape."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidPrior(
            f"{name} is ragged or contains a value that is not a number; pass one number per {unit}"
        ) from None


def as_numbers(values: npt.ArrayLike, shape: tuple[int, ...], name: str, unit: str) -> Vector:
    """Return the values as finite floats of the given shape."""
    array = as_array(values, name, unit)
    if array.shape != shape:
        raise InvalidPrior(
            f"{name} has shape {array.shape}; expected {shape}, one entry per {unit}: "
            "pass it in the order of the names"
        )
    bad = np.argwhere(~(np.abs(array) <= LARGEST**2))  # a covariance may be a score squared
    if len(bad):
        entry = ", ".join(str(index) for index in bad[0])
        raise InvalidPrior(
            f"{name}[{entry}] is {array[tuple(bad[0])]}; "
            f"every entry must be a number from {-(LARGEST**2):g} to {LARGEST**2:g}: "
            "fill in or drop missing entries"
        )
    return array


def as_covariance(values: npt.ArrayLike, names: Sequence[object], name: str, unit: str) -> Matrix:
    """Return the values as a symmetric positive semi-definite matrix over the names."""
    size = len(names)
    matrix = as_numbers(values, (size, size), name, unit)
    scale = float(np.abs(matrix).max(initial=0.0))
    _refuse_asymmetric(matrix, names, name, scale)
    _refuse_indefinite(matrix, names, name, scale)
    return (matrix + matrix.T) / 2.0  # removes an asymmetry from rounding


def unique_names(names: Sequence[object], unit: str) -> None:
    """Raise InvalidPrior if there are duplicate names, or none."""
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise InvalidPrior(f"duplicate {unit} {name!r}; list each {unit} once")
        seen.add(name)
    if not seen:
        raise InvalidPrior(f"the prior has no {unit}s; give it at least one")


def checked_jitter(jitter: float) -> float:
    """Return the jitter as a float; raise InvalidPrior if it is out of range."""
    if not 0.0 <= jitter <= LARGEST:
        raise InvalidPrior(f"the jitter is {jitter}; it must be a number from 0 to {LARGEST:g}")
    return float(jitter)


def _refuse_asymmetric(matrix: Matrix, names: Sequence[object], name: str, scale: float) -> None:
    gap = np.abs(matrix - matrix.T)
    row, column = divmod(int(gap.argmax()), len(gap))
    if gap[row, column] > RELATIVE_TOLERANCE * scale:
        raise InvalidPrior(
            f"{name} is not symmetric: [{row}, {column}] is {matrix[row, column]:g} but "
            f"[{column}, {row}] is {matrix[column, row]:g} ({names[row]!r}, {names[column]!r}); "
            "pass (A + A.T) / 2 if they are meant to be equal"
        )


def _refuse_indefinite(matrix: Matrix, names: Sequence[object], name: str, scale: float) -> None:
    tolerance = RELATIVE_TOLERANCE * scale
    diagonal = np.diag(matrix)
    lowest = int(diagonal.argmin())
    if diagonal[lowest] < -tolerance:
        raise InvalidPrior(
            f"{name}[{lowest}, {lowest}] is {diagonal[lowest]:g} ({names[lowest]!r}); "
            "a variance cannot be negative"
        )
    bound = np.sqrt(np.outer(np.maximum(diagonal, 0), np.maximum(diagonal, 0)))
    excess = np.abs(matrix) - bound
    row, column = divmod(int(excess.argmax()), len(excess))
    if excess[row, column] > tolerance:
        raise InvalidPrior(
            f"{name}[{row}, {column}] is {matrix[row, column]:g} ({names[row]!r}, "
            f"{names[column]!r}), a correlation above 1 for the variances {diagonal[row]:g} and "
            f"{diagonal[column]:g}; lower the covariance, or raise the variances"
        )
    try:
        # Cheap if it succeeds; eigenvalues are computed only for the error message.
        np.linalg.cholesky(matrix + (tolerance + np.finfo(float).tiny) * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -tolerance:
            worst = int(np.abs(vectors[:, 0]).argmax())
            raise InvalidPrior(
                f"{name} is not positive semi-definite: its smallest eigenvalue is "
                f"{values[0]:.3g}, mostly along entry {worst} ({names[worst]!r}); add at least "
                f"{-values[0]:.3g} to its diagonal, or pass the nearest PSD matrix"
            ) from None
