"""Sums of products, also of empty operands."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from bentham.core.gaussian.sums import contract


def empty(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return an empty array with zero strides, as numpy creates it, over memory with NaN."""
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
def test_sums_of_empty_operands_are_zero(
    subscripts: str, shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    views = [np.zeros([length + 1 for length in shape]) for shape in shapes]
    for index, shape in enumerate(shapes):
        operands = [
            view[tuple(map(slice, shape_of_view))]
            for view, shape_of_view in zip(views, shapes, strict=True)
        ]
        if 0 in shape:
            operands[index] = empty(*shape)
        found = contract(subscripts, *operands)
        assert found.shape == result
        assert np.array_equal(found, np.zeros(result))


def test_other_sums_agree_with_numpy() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    assert contract("ij,jk->ik", one, other) == pytest.approx(one @ other)
    assert contract("ij,ij->i", one, one) == pytest.approx((one * one).sum(axis=1))
    cube = rng.normal(size=(3, 3, 2))
    assert np.array_equal(contract("iib->ib", cube), cube[np.arange(3), np.arange(3)])
