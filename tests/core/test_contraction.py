"""Sums of products: against plain ones, and where there is nothing to sum."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from bentham.core.gaussian.sums import contract


def nothing(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """An empty array as numpy makes them, its strides zero, where memory holds no number."""
    return as_strided(np.full(3, np.nan), shape, (0,) * len(shape))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "result"),
    [
        ("bi,bi->b", [(24, 0), (24, 0)], (24,)),
        ("bi,bim->bm", [(24, 0), (24, 0, 8)], (24, 8)),
        ("r,rm->m", [(0,), (0, 8)], (8,)),
        ("dr,rm->dm", [(4, 0), (0, 8)], (4, 8)),
        ("rm,rm->m", [(0, 8), (0, 8)], (8,)),
        ("ri,rj->ij", [(0, 8), (0, 8)], (8, 8)),
        ("k,km->m", [(3,), (3, 0)], (0,)),
    ],
)
def test_of_nothing_the_sum_is_zero(
    subscripts: str, shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    views = [np.zeros([length + 1 for length in shape]) for shape in shapes]
    for place, shape in enumerate(shapes):
        operands = [view[tuple(map(slice, own))] for view, own in zip(views, shapes, strict=True)]
        if 0 in shape:
            operands[place] = nothing(*shape)
        found = contract(subscripts, *operands)
        assert found.shape == result
        assert np.array_equal(found, np.zeros(result))


def test_of_something_it_is_the_usual_sum() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    assert contract("ij,jk->ik", one, other) == pytest.approx(one @ other)
    assert contract("ij,ij->i", one, one) == pytest.approx((one * one).sum(axis=1))
    cube = rng.normal(size=(3, 3, 2))
    assert np.array_equal(contract("iib->ib", cube), cube[np.arange(3), np.arange(3)])
