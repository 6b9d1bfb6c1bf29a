"""Trees without crossing arcs. A dependant of a crossing arc is lifted to the head of its head."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def projective(heads: Sequence[int]) -> list[int]:
    """Heads of a projective tree (Nivre and Nilsson 2005). While arcs cross, the shortest of them is lifted.

    >>> projective([2, 3, -1, 2])
    [2, 2, -1, 2]
    """
    result = list(heads)
    while (word := _shortest_crossing(result)) is not None:
        result[word] = result[result[word]]
    return result


def _shortest_crossing(heads: Sequence[int]) -> int | None:
    first, beyond = _spans(heads)

    def covers(word: int, head: int) -> bool:
        inner = first[min(word, head) + 1 : max(word, head)]
        return not len(inner) or bool(first[head] <= inner.min() and inner.max() < beyond[head])

    arcs = ((abs(word - head), word) for word, head in enumerate(heads) if head >= 0)
    return next((word for _, word in sorted(arcs) if not covers(word, heads[word])), None)


def _spans(heads: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        below[head].append(word)  # of the root, -1: the last
    order, waiting = list[int](), below[-1][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += below[order[-1]][::-1]
    first, sizes = np.zeros(len(heads), np.int64), np.ones(len(heads), np.int64)
    first[order] = np.arange(len(order))
    for word in reversed(order):
        if heads[word] >= 0:
            sizes[heads[word]] += sizes[word]
    return first, first + sizes
