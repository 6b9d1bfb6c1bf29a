"""Ties: runs of equal values in sorted order, shared by the ranking metrics."""

import numpy as np

from features.basics.array_types import FloatArray, IntArray


def tie_groups(values: FloatArray) -> tuple[IntArray, int]:
    """(n,) the group of each value and the number of groups.

    Group 0 has the smallest value; equal values share a group.

    >>> tie_groups(np.array([2.0, 1.0, 2.0]))
    (array([1, 0, 1]), 2)
    """
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.astype(np.int64), len(distinct)
