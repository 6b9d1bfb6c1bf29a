"""Products of rows that do not depend on the other rows, to the last bit."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

# BLAS rounds by the shape of its operands: every product has this many rows. In single precision, for some
# processors, it rounds by the place of a row among them, too: so in double. With more columns than fit its
# blocks it rounds by the number of its threads, which only one thread of the process can set: so these are
# added up by parts. The last columns, beyond a multiple of 8, it rounds by the place of a row in double, too:
# so there are none.
_ROWS = 256
_COLUMNS = 256
_COLUMN_STEP = 8


def row_products(
    matrix: NDArray[Any], right: NDArray[Any], result: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Product (n, m) of (n, k) and (k, m) in double precision; a row's result is the same in every batch."""
    right = np.ascontiguousarray(right, np.float64)
    if (columns := right.shape[1]) > _COLUMN_STEP and columns % _COLUMN_STEP:
        filled = np.pad(right, ((0, 0), (0, -columns % _COLUMN_STEP)))
        result = np.empty((len(matrix), columns)) if result is None else result
        result[:] = row_products(matrix, filled)[:, :columns]
        return result
    result = np.empty((len(matrix), columns)) if result is None else result
    block = np.zeros((_ROWS, matrix.shape[1]))
    with _controller().limit(limits=1, user_api="blas"):  # two mostly wait for each other
        for first in range(0, len(matrix), _ROWS):
            part = matrix[first : first + _ROWS]
            block[: len(part)] = part
            in_place = len(part) == _ROWS and result.flags.c_contiguous
            product = result[first : first + _ROWS] if in_place else np.empty((_ROWS, columns))
            np.matmul(block[:, :_COLUMNS], right[:_COLUMNS], out=product)
            for start in range(_COLUMNS, len(right), _COLUMNS):
                product += block[:, start : start + _COLUMNS] @ right[start : start + _COLUMNS]
            if not in_place:
                result[first : first + _ROWS] = product[: len(part)]
    return result


def single_row_products(matrix: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float32]:
    """Product (n, m) of (n, k) and (k, m), k <= 256, in single precision, the same in every batch."""
    if len(right) > _COLUMNS or not _alike(*right.shape, right.flags.c_contiguous):
        return row_products(matrix, right).astype(np.float32)
    right = np.asarray(right, np.float32)
    result = np.empty((-(-len(matrix) // _ROWS) * _ROWS, right.shape[1]), np.float32)
    block = np.zeros((_ROWS, matrix.shape[1]), np.float32)
    with _controller().limit(limits=1, user_api="blas"):
        for first in range(0, len(matrix), _ROWS):
            part = matrix[first : first + _ROWS]
            block[: len(part)] = part
            np.matmul(block, right, out=result[first : first + _ROWS])
    return result[: len(matrix)]


@lru_cache
def _alike(width: int, columns: int, in_rows: bool) -> bool:
    rng = np.random.default_rng(0)
    shape = width, min(columns, 512 + columns % 512)
    matrix = rng.standard_normal((_ROWS, width), np.float32)
    right = np.asarray(rng.standard_normal(shape, np.float32), order="C" if in_rows else "F")
    with _controller().limit(limits=1, user_api="blas"):
        whole = matrix @ right
        moved = [np.roll(np.arange(_ROWS), by) for by in (1, 7, 100)]
        return all(np.array_equal(np.ascontiguousarray(matrix[rows]) @ right, whole[rows]) for rows in moved)


@lru_cache(1)
def _controller() -> Any:
    return ThreadpoolController()  # looks for libraries, which takes longer than a small product
