"""Short names for types of arrays, options for kernels, and texts of different lengths in one array."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


# For functions that are called millions of times and only read and write arrays of their callers: references
# to these are not counted. Counting, two atomic additions for every array of every call, took two thirds of
# the decoder's time. Such a function cannot make an array.
UNCOUNTED: Final[dict[str, Any]] = {"cache": True, "nogil": True, "_nrt": False}


Longs = NDArray[np.int64]


def offsets_of(lengths: Any) -> Longs:
    """Offsets (n + 1,) of n texts with the given lengths.

    >>> offsets_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def row_index(offsets: Longs) -> Longs:
    """The text of every item.

    >>> row_index(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def rows_of(offsets: Longs, rows: NDArray[np.integer[Any]]) -> tuple[Longs, Longs]:
    """The offsets of some texts, put together, and the places of their items.

    >>> [each.tolist() for each in rows_of(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    lengths = np.diff(offsets)[rows]
    own = offsets_of(lengths)
    return own, np.arange(own[-1]) + np.repeat(offsets[rows] - own[:-1], lengths)
