"""In how many segments each word occurs."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.tokens import Tokens


def segments_with(tokens: Tokens) -> NDArray[np.int64]:
    """(types,) the number of texts that have each word.

    >>> segments_with(Tokens.from_lists([["a", "b", "a"], ["a"]]))
    array([2, 1])
    """
    counts: NDArray[np.int64] = _count(np.asarray(tokens.ids), np.asarray(tokens.offsets), len(tokens.types))
    return counts


@numba.njit(cache=True, nogil=True)
def _count(ids: Any, offsets: Any, types: int) -> Any:
    counts, last = np.zeros(types, np.int64), np.full(types, -1, np.int64)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            counts[ids[i]] += last[ids[i]] != text
            last[ids[i]] = text
    return counts
