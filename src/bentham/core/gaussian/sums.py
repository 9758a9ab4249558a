"""Sums of products in a fixed order: np.einsum, but correct for empty operands.

np.einsum uses plain additions and multiplications, without BLAS, so its result does not depend on
the number of threads or the library build. But given an empty operand, it reads a first element
anyway and multiplies it by zero. The result is usually 0, but NaN if that memory happens to
contain NaN or infinity (seen in numpy 2.3.5 and 2.4.6: empty arrays have stride zero, which selects
the code path for constant operands).
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def contract(subscripts: str, *operands: Array) -> Array:
    """Return np.einsum of the operands; `subscripts` must name the output: "ij,jk->ik"."""
    if all(operand.size for operand in operands):
        result: Array = np.einsum(subscripts, *operands)
        return result
    inputs, _, output = subscripts.partition("->")
    lengths = {
        name: length
        for names, operand in zip(inputs.split(","), operands, strict=True)
        for name, length in zip(names, operand.shape, strict=True)
    }
    return np.zeros([lengths[name] for name in output])
