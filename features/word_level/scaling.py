"""Inputs of networks: columns standardised by their defined values, and vectors."""

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_VECTOR_SCALE: Final = np.float32(3.0)  # vectors have length 1: near the entries of standardised columns
_LIMIT: Final = np.float32(4.0)  # standard deviations


def moments(columns: Matrix) -> tuple[Matrix, Matrix]:
    """(k,) means and standard deviations of the defined values of (n, k) columns. Undefined is NaN. 0 and 1
    for a column that is never defined, and deviation 1 for a constant one.

    >>> [m.tolist() for m in moments(np.array([[1, np.nan], [3, np.nan]], np.float32))]
    [[2.0, 0.0], [1.0, 1.0]]
    """
    mean, square = _moments(columns)
    deviation = np.sqrt(square).astype(np.float32)  # 0 also where it is too small for single precision
    return mean.astype(np.float32), np.where(deviation > 0, deviation, np.float32(1))


def standardised_inputs(columns: Matrix, vectors: Matrix, mean: Matrix, deviation: Matrix) -> Matrix:
    """(n, k + d) inputs: standardised (n, k) columns and (n, d) vectors. Columns are in standard deviations,
    cut at 4; undefined values are 0.
    """
    result = np.empty((len(columns), columns.shape[1] + vectors.shape[1]), np.float32)
    _scale(columns, mean, deviation, result)
    np.multiply(vectors, _VECTOR_SCALE, out=result[:, columns.shape[1] :])
    return result


@njit(cache=True, nogil=True)
def _moments(columns: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n, size = columns.shape
    count, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for i in range(n):
        for k in range(size):
            value = columns[i, k]
            if not np.isnan(value):
                count[k] += 1.0
                mean[k] += value
    for k in range(size):
        mean[k] /= max(count[k], 1.0)
    for i in range(n):
        for k in range(size):
            value = columns[i, k]
            if not np.isnan(value):
                square[k] += (value - mean[k]) ** 2
    for k in range(size):
        square[k] /= max(count[k], 1.0)
    return mean, square


@njit(cache=True, nogil=True)
def _scale(columns: Matrix, mean: Matrix, deviation: Matrix, result: Matrix) -> None:
    for i in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            value = (columns[i, k] - mean[k]) / deviation[k]
            result[i, k] = np.float32(0) if np.isnan(value) else min(max(value, -_LIMIT), _LIMIT)
