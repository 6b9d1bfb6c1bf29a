"""Texts of different lengths in one array: text k is items[offsets[k]:offsets[k + 1]]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
