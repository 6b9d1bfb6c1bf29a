"""Groups of segments (documents), whose statistics are exchanged or drawn as a whole.

Statistics are summed by group.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.errors import InputError

Groups = Sequence[Any] | NDArray[Any]


def group_index(groups: Groups, segments: int) -> tuple[NDArray[np.int64], int]:
    """(n,) group number of each segment, in order of first appearance; the number of groups.

    Raises InputError if there is not one group per segment.
    """
    if len(groups) != segments:
        raise InputError(f"{segments} segments, but {len(groups)} groups")
    numbers: dict[Any, int] = {}
    index = np.fromiter((numbers.setdefault(g, len(numbers)) for g in groups), np.int64, segments)
    return index, len(numbers)


def group_sums(statistics: FloatArray, groups: Groups | None) -> FloatArray:
    """(runs, n, k) statistics -> (runs, g, k) sums by group; unchanged without groups."""
    if groups is None:
        return statistics
    index, count = group_index(groups, statistics.shape[1])
    sums = np.zeros((statistics.shape[0], count, statistics.shape[2]))
    for run, target in zip(statistics, sums, strict=True):
        np.add.at(target, index, run)
    return sums
