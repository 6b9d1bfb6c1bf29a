"""Rank ranges: the ranks that a system keeps in most bootstrap samples, and clusters."""

from collections.abc import Sequence

import numpy as np

from features.basics.array_types import IntArray


def rank_ranges(ranks: IntArray, confidence: float = 0.95) -> IntArray:
    """(k, 2) lowest and highest rank after the extremes are dropped, equally many on each side.

    ranks  (samples, k)

    The dropped samples are (1 - confidence) of all, rounded down on each side.

    >>> rank_ranges(np.array([[1], [2], [2], [3], [9]]), confidence=0.6).tolist()
    [[2, 3]]
    """
    ordered = np.sort(ranks, axis=0)
    # The share is rounded first: 1 - .95 is a little more than .05.
    dropped = int(len(ranks) * round((1 - confidence) / 2, 12))
    return np.stack([ordered[dropped], ordered[len(ranks) - 1 - dropped]], axis=-1)


def clusters(order: Sequence[int] | IntArray, ranges: IntArray) -> list[list[int]]:
    """Groups of systems that are not significantly different, best first.

    order   indices of the systems, best first
    ranges  (k, 2) rank range of each system by its index

    A cut lies where no rank range reaches across: everybody above has a better range than everybody below
    (the convention of the WMT shared tasks from 2013 on).

    >>> clusters([0, 1, 2], np.array([[1, 2], [1, 2], [3, 3]]))
    [[0, 1], [2]]
    """
    groups: list[list[int]] = []
    current: list[int] = []
    for place, system in enumerate(order):
        current.append(int(system))
        rest = order[place + 1 :]
        above = max(ranges[i][1] for i in order[: place + 1])
        if all(above < ranges[i][0] for i in rest):
            groups.append(current)
            current = []
    return groups
