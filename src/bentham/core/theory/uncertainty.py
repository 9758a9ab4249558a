"""Maximal incremental uncertainty, MIU_s(K), of Section 5.1.

    MIU_s(K)   the largest sqrt(det K_S / det K_S') with S' in S, |S| = s, |S'| = s - 1:
               the largest standard deviation of an arm given s - 1 others
    MIU(T, K)  the sum of MIU_s(K) for s = 2 .. |L(T)|

It is a maximum over subsets. For up to EXACT_ARMS arms, the subsets are enumerated; for more arms,
MIU_s is bounded (see `Bounds.exact`):

    above   MIU_s never grows with s (a subset of S' leaves more uncertainty), so MIU_1, the root of
            the largest diagonal entry, and MIU_2, which is cheap, bound the rest; beyond the rank
            it is 0 (the numerical rank: eigenvalues within rounding error count as zero)
    below   any chain of subsets gives a bound: greedily add the arm of largest uncertainty; and,
            for some arms x, greedily add the other arm that is least informative about x

The paper bounds MIU(T, K) by the sum of the |L(T)| largest roots of the diagonal. That does not
hold: with independent arms of unequal variance every MIU_s is the largest standard deviation, since
the arm of largest variance can always be the one added. See docs/theory.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.gaussian.prior import RESOLUTION
from bentham.core.gaussian.validation import Matrix, Vector

EXACT_ARMS = 14
# The greedy lower bound starts from at most this many arms, fewer if each start is expensive.
_GREEDY_STARTS = 32
_GREEDY_BUDGET = 2e8


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number that is known exactly, or only to lie between two bounds.

    Args:
        lower: Lower bound.
        upper: Upper bound; equal to `lower` if the number is known exactly.
    """

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the number is known exactly."""
        return self.lower == self.upper

    def __add__(self, other: "Bounds") -> "Bounds":
        return Bounds(self.lower + other.lower, self.upper + other.upper)


def miu_scores(covariance: Matrix) -> list[Bounds]:
    """Return MIU_s for s = 1 .. |L|: exact for up to 14 arms, otherwise bounds.

    Args:
        covariance: Prior covariance of the arms, (|L|, |L|).
    """
    if len(covariance) <= EXACT_ARMS:
        return [Bounds(value, value) for value in _enumerated(covariance)]
    return _bounded(covariance)


def miu_scores_of_blocks(
    blocks: Sequence[tuple[Sequence[Bounds], int]], count: int
) -> list[Bounds]:
    """Return MIU_s for s = 1 .. count of a union of independent blocks.

    An arm keeps the most uncertainty if the other arms are in other blocks. Each block takes as
    many as its rank; only arms that do not fit in other blocks reduce the uncertainty.

    Args:
        blocks: For each distinct block, its MIU_s and the number of blocks like it.
        count: Number of MIU_s to return.
    """
    lower = _combined([([score.lower for score in scores], times) for scores, times in blocks])
    upper = _combined([([score.upper for score in scores], times) for scores, times in blocks])
    return [Bounds(lower(chosen), upper(chosen)) for chosen in range(count)]  # s - 1 chosen


def _combined(blocks: Sequence[tuple[list[float], int]]) -> Callable[[int], float]:
    ranks = [sum(score > 0.0 for score in scores) for scores, _ in blocks]
    total = sum(rank * times for rank, (_, times) in zip(ranks, blocks, strict=True))

    def largest(chosen: int) -> float:
        inside = (max(0, chosen - (total - rank)) for rank in ranks)
        return max(
            scores[place] if place < len(scores) else 0.0
            for place, (scores, _) in zip(inside, blocks, strict=True)
        )

    return largest


def miu_total(scores: Sequence[Bounds], tested: int) -> Bounds:
    """Return MIU(T, K).

    Args:
        scores: MIU_s for s = 1, 2, ...; MIU_s beyond the last one counts as 0.
        tested: Number of arms tested by time T, |L(T)|.
    """
    return sum(scores[1:tested], start=Bounds(0.0, 0.0))


def top_diagonal_bound(covariance: Matrix, tested: int) -> float:
    """Return the paper's upper bound on MIU(T, K), as stated in Section 5.2; it can be too low.

    Args:
        covariance: Prior covariance of the arms, (|L|, |L|).
        tested: Number of arms tested by time T, |L(T)|.
    """
    deviations = np.sqrt(np.sort(np.diag(covariance))[::-1])
    return float(deviations[:tested].sum())


def _enumerated(covariance: Matrix) -> list[float]:
    size = len(covariance)
    resolution = RESOLUTION * np.diag(covariance)
    rank = _rank(covariance)  # beyond the rank, uncertainty is rounding error
    best = [0.0] * size

    def visit(conditional: Matrix, first: int, chosen: int) -> None:
        # `conditional` is the covariance given the chosen arms, all of them before `first`.
        uncertainty = _uncertainty(conditional, resolution)
        best[chosen] = max(best[chosen], float(np.sqrt(uncertainty.max())))
        if chosen + 1 < rank:
            for arm in range(first, size):
                if uncertainty[arm] > 0.0:  # otherwise det K_S' = 0, also for larger sets
                    visit(_given(conditional, arm), arm + 1, chosen + 1)

    visit(covariance, 0, 0)
    return best


def _bounded(covariance: Matrix) -> list[Bounds]:
    lower = np.maximum(_widest_chain(covariance), _narrowest_chains(covariance))
    rank = _rank(covariance)
    upper = np.where(np.arange(len(covariance)) < rank, _second(covariance), 0.0)
    largest = float(np.sqrt(np.diag(covariance).max()))
    upper[0] = lower[0] = largest
    # Where both bounds are equal, rounding may lift the lower one above the upper one.
    return [
        Bounds(min(float(low), float(high)), float(high))
        for low, high in zip(lower, upper, strict=True)
    ]


def _rank(covariance: Matrix) -> int:
    deviation = np.sqrt(np.diag(covariance))
    uncertain = deviation > 0.0
    scaled = covariance[np.ix_(uncertain, uncertain)]
    # The rank of the correlations: arms of small variance may be independent, too.
    values = np.linalg.eigvalsh(scaled / np.outer(deviation[uncertain], deviation[uncertain]))
    return int((values > len(values) * np.finfo(float).eps * len(values)).sum())


def _second(covariance: Matrix) -> float:
    """Return MIU_2: the largest standard deviation given one other arm."""
    variance = np.diag(covariance)
    known = variance > 0.0
    explained = covariance[known] ** 2 / variance[known, np.newaxis]
    left = variance[np.newaxis, :] - explained
    left[np.arange(len(left)), np.flatnonzero(known)] = 0.0
    return float(np.sqrt(max(0.0, left.max(initial=0.0))))


def _widest_chain(covariance: Matrix) -> Vector:
    """Repeatedly add the arm of largest uncertainty; 0 beyond the rank."""
    resolution = RESOLUTION * np.diag(covariance)
    found = np.zeros(len(covariance))
    conditional = covariance
    for step in range(len(covariance)):
        uncertainty = _uncertainty(conditional, resolution)
        arm = int(uncertainty.argmax())
        if uncertainty[arm] <= 0.0:
            break
        found[step] = np.sqrt(uncertainty[arm])
        conditional = _given(conditional, arm)
    return found


def _narrowest_chains(covariance: Matrix) -> Vector:
    """For the arms of largest variance: repeatedly add the arm least informative about them."""
    size = len(covariance)
    starts = int(min(_GREEDY_STARTS, size, max(1.0, _GREEDY_BUDGET / size**3)))
    resolution = RESOLUTION * np.diag(covariance)
    found = np.zeros(size)
    for target in np.argsort(-np.diag(covariance), kind="stable")[:starts]:
        conditional = covariance
        for step in range(size):
            uncertainty = _uncertainty(conditional, resolution)
            if uncertainty[target] <= 0.0:
                break
            found[step] = max(found[step], np.sqrt(uncertainty[target]))
            explained = np.full(size, np.inf)
            free = (uncertainty > 0.0) & (np.arange(size) != target)
            explained[free] = conditional[target, free] ** 2 / uncertainty[free]
            if not free.any():
                break
            conditional = _given(conditional, int(explained.argmin()))
    return found


def _uncertainty(conditional: Matrix, resolution: Vector) -> Vector:
    variance = np.diag(conditional)
    uncertainty: Vector = np.where(variance > resolution, variance, 0.0)
    return uncertainty


def _given(conditional: Matrix, arm: int) -> Matrix:
    """Return the covariance given one more arm (Lemma 4), which has no variance left."""
    row = conditional[arm]
    left: Matrix = conditional - np.outer(row, row) / row[arm]
    left[arm, :] = left[:, arm] = 0.0
    return left
