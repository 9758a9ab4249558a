"""Maximal incremental uncertainty, MIU_s(K), of Section 5.1.

    MIU_s(K)   the largest sqrt(det K_S / det K_S') with S' in S, |S| = s, |S'| = s - 1:
               the largest standard deviation that an arm keeps, given some s - 1 others
    MIU(T, K)  the sum of MIU_s(K) for s = 2 .. |L(T)|

It is a maximum over subsets. Up to EXACT_ARMS arms they are enumerated; beyond, it is bounded,
and said so:

    above   MIU_s never grows with s (a subset of S' leaves more doubt), so MIU_1, the root of the
            largest diagonal entry, and MIU_2, which is cheap, bound the rest; past the rank it is 0
            (the numerical rank: eigenvalues of the size of rounding count as zero)
    below   any chain of subsets gives one: greedily the next arm of largest doubt, and for some
            arms x greedily the other arm that tells the least about x

The paper bounds MIU(T, K) by the sum of the largest |L(T)| roots of the diagonal. That does not
hold: with independent arms of unequal variance every MIU_s is the largest deviation, since the arm
of largest variance can always be the one added. See docs/theory.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bentham.core.gaussian.prior import RESOLUTION
from bentham.core.gaussian.validation import Matrix, Vector

EXACT_ARMS = 14
# The greedy lower bound starts from so many arms, fewer where each start is costly.
_GREEDY_STARTS = 32
_GREEDY_BUDGET = 2e8


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number known exactly, or only between two bounds."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper

    def __add__(self, other: "Bounds") -> "Bounds":
        return Bounds(self.lower + other.lower, self.upper + other.upper)


def miu_scores(covariance: Matrix) -> list[Bounds]:
    """MIU_s for s = 1 .. |L|: exact by enumeration when small, else bounds."""
    if len(covariance) <= EXACT_ARMS:
        return [Bounds(value, value) for value in _enumerated(covariance)]
    return _bounded(covariance)


def miu_scores_of_blocks(
    blocks: Sequence[tuple[Sequence[Bounds], int]], count: int
) -> list[Bounds]:
    """MIU_s for s = 1 .. count of independent blocks, each given as (its scores, how often).

    An arm keeps most doubt when the others lie outside its block, as long as they last: only
    what cannot be placed outside (a block takes as many as its rank) tells something about it.
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
    """MIU(T, K) with so many arms tested by T; past the last score there is no doubt left."""
    return sum(scores[1:tested], start=Bounds(0.0, 0.0))


def top_diagonal_bound(covariance: Matrix, tested: int) -> float:
    """The paper's upper bound on MIU(T, K), as stated in Section 5.2; it can be too low."""
    deviations = np.sqrt(np.sort(np.diag(covariance))[::-1])
    return float(deviations[:tested].sum())


def _enumerated(covariance: Matrix) -> list[float]:
    size = len(covariance)
    resolution = RESOLUTION * np.diag(covariance)
    rank = _rank(covariance)  # beyond it, what looks like doubt is rounding
    best = [0.0] * size

    def visit(conditional: Matrix, first: int, chosen: int) -> None:
        # `conditional` is the covariance given the chosen arms, all of them before `first`.
        doubt = _doubt(conditional, resolution)
        best[chosen] = max(best[chosen], float(np.sqrt(doubt.max())))
        if chosen + 1 < rank:
            for arm in range(first, size):
                if doubt[arm] > 0.0:  # else det K_S' = 0, and so for every larger set
                    visit(_given(conditional, arm), arm + 1, chosen + 1)

    visit(covariance, 0, 0)
    return best


def _bounded(covariance: Matrix) -> list[Bounds]:
    lower = np.maximum(_widest_chain(covariance), _narrowest_chains(covariance))
    rank = _rank(covariance)
    upper = np.where(np.arange(len(covariance)) < rank, _second(covariance), 0.0)
    largest = float(np.sqrt(np.diag(covariance).max()))
    upper[0] = lower[0] = largest
    # Rounding may lift a bound from below past one from above that it meets.
    return [
        Bounds(min(float(low), float(high)), float(high))
        for low, high in zip(lower, upper, strict=True)
    ]


def _rank(covariance: Matrix) -> int:
    deviation = np.sqrt(np.diag(covariance))
    uncertain = deviation > 0.0
    scaled = covariance[np.ix_(uncertain, uncertain)]
    # Of the correlations: arms of small variance are no less independent for that.
    values = np.linalg.eigvalsh(scaled / np.outer(deviation[uncertain], deviation[uncertain]))
    return int((values > len(values) * np.finfo(float).eps * len(values)).sum())


def _second(covariance: Matrix) -> float:
    """MIU_2: the largest deviation given one other arm."""
    variance = np.diag(covariance)
    known = variance > 0.0
    explained = covariance[known] ** 2 / variance[known, np.newaxis]
    left = variance[np.newaxis, :] - explained
    left[np.arange(len(left)), np.flatnonzero(known)] = 0.0
    return float(np.sqrt(max(0.0, left.max(initial=0.0))))


def _widest_chain(covariance: Matrix) -> Vector:
    """Add the arm of largest doubt, again and again; zero from the rank on."""
    resolution = RESOLUTION * np.diag(covariance)
    found = np.zeros(len(covariance))
    conditional = covariance
    for step in range(len(covariance)):
        doubt = _doubt(conditional, resolution)
        arm = int(doubt.argmax())
        if doubt[arm] <= 0.0:
            break
        found[step] = np.sqrt(doubt[arm])
        conditional = _given(conditional, arm)
    return found


def _narrowest_chains(covariance: Matrix) -> Vector:
    """For the arms of largest variance: add the other arm that tells least about it."""
    size = len(covariance)
    starts = int(min(_GREEDY_STARTS, size, max(1.0, _GREEDY_BUDGET / size**3)))
    resolution = RESOLUTION * np.diag(covariance)
    found = np.zeros(size)
    for target in np.argsort(-np.diag(covariance), kind="stable")[:starts]:
        conditional = covariance
        for step in range(size):
            doubt = _doubt(conditional, resolution)
            if doubt[target] <= 0.0:
                break
            found[step] = max(found[step], np.sqrt(doubt[target]))
            told = np.full(size, np.inf)
            free = (doubt > 0.0) & (np.arange(size) != target)
            told[free] = conditional[target, free] ** 2 / doubt[free]
            if not free.any():
                break
            conditional = _given(conditional, int(told.argmin()))
    return found


def _doubt(conditional: Matrix, resolution: Vector) -> Vector:
    variance = np.diag(conditional)
    doubt: Vector = np.where(variance > resolution, variance, 0.0)
    return doubt


def _given(conditional: Matrix, arm: int) -> Matrix:
    """The covariance given one more arm (Lemma 4): an arm given has no variance left."""
    row = conditional[arm]
    left: Matrix = conditional - np.outer(row, row) / row[arm]
    left[arm, :] = left[:, arm] = 0.0
    return left
