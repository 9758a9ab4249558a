"""Sums of products that run in a fixed order: np.einsum, but right where there is nothing to sum.

np.einsum runs in plain additions and multiplications, not through BLAS, so that its result does
not depend on the number of threads or the library build. But of an operand without elements it
takes the first one all the same, and multiplies what lies there by zero: mostly that is zero, and
where the memory happens to hold something that is no number, it is none (seen in numpy 2.3.5 and
2.4.6; strides of empty arrays are zero there, which sends it down the path of constant operands).
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def contract(subscripts: str, *operands: Array) -> Array:
    """The sum of products that `subscripts` say, which name their output: "ij,jk->ik"."""
    if all(operand.size for operand in operands):
        result: Array = np.einsum(subscripts, *operands)
        return result
    taken, _, given = subscripts.partition("->")
    lengths = {
        name: length
        for names, operand in zip(taken.split(","), operands, strict=True)
        for name, length in zip(names, operand.shape, strict=True)
    }
    return np.zeros([lengths[name] for name in given])
