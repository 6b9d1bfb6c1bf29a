"""Distinct integers by sorting. This is several times as fast as NumPy's `unique`, which hashes, where most
differ.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """(k,) the distinct of some integers (n,), in ascending order.

    >>> distinct(np.array([3, 1, 3, 2])).tolist(), distinct(np.empty(0, np.int64)).tolist()
    ([1, 2, 3], [])
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def numbered(codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct of small whole numbers, ascending, and each one's place among them (n,). Takes a byte and
    a number for every value up to the largest: for code points, not for hashes.

    >>> [each.tolist() for each in numbered(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1]]
    """
    there = np.zeros(int(codes.max()) + 1 if len(codes) else 0, np.bool_)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
