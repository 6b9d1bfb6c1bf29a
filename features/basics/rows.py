"""Products of rows that do not depend on the rows beside them, to the last bit."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

# BLAS rounds by the shape of its operands: every product has this many rows. In single precision, for some
# processors, it rounds by the place of a row among them, too: so in double. With more columns than fit its
# blocks it rounds by the number of its threads, which only one thread of the process can set: so these are
# added up by parts.
_ROWS = 256
_COLUMNS = 256


def row_products(
    left: NDArray[Any], right: NDArray[Any], out: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """(n, m) product of (n, k) and (k, m) in double precision; a row's is the same in every batch.

    out  (n, m) where it is put; None: into a new array

    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(1000, 300)), rng.normal(size=(300, 64))
    >>> bool((row_products(left, right)[437] == row_products(left[437:438], right)[0]).all())
    True
    """
    right = np.ascontiguousarray(right, np.float64)
    result = np.empty((len(left), right.shape[1])) if out is None else out
    block = np.zeros((_ROWS, left.shape[1]))
    with _controller().limit(limits=1, user_api="blas"):  # two mostly wait for each other
        for first in range(0, len(left), _ROWS):
            part = left[first : first + _ROWS]
            block[: len(part)] = part
            if len(part) == _ROWS and result.flags.c_contiguous:
                _by_parts(block, right, result[first : first + _ROWS])
            else:
                whole = np.empty((_ROWS, right.shape[1]))
                result[first : first + _ROWS] = _by_parts(block, right, whole)[: len(part)]
    return result


def _by_parts(
    left: NDArray[np.float64], right: NDArray[np.float64], out: NDArray[np.float64]
) -> NDArray[np.float64]:
    np.matmul(left[:, :_COLUMNS], right[:_COLUMNS], out=out)
    for first in range(_COLUMNS, len(right), _COLUMNS):
        out += left[:, first : first + _COLUMNS] @ right[first : first + _COLUMNS]
    return out


@lru_cache(1)
def _controller() -> Any:
    return ThreadpoolController()  # looks for libraries, which takes longer than a small product
