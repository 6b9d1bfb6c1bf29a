"""Exchanges of predictions between two systems: shared code for fast exact rescoring.

The ranking metrics use it.

All 2 n predictions of both systems are sorted once, best first; in every shuffle each of these entries
belongs to one of two pseudo-systems. Kernels walk the entries and keep one state per shuffle, so that
compilers vectorise over shuffles.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, IntArray
from qe.statistics.metrics._ranks import tie_groups

Heads = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Entries:
    """Predictions of two systems in one order, best first.

    segment  (2 n,) the segment of each entry
    side     (2 n,) 0 for the first system's prediction, 1 for the second's
    ends     (g,) where each run of equal predictions ends
    """

    segment: IntArray
    side: NDArray[np.uint8]
    ends: IntArray

    @classmethod
    def of(cls, own: FloatArray, other: FloatArray) -> "Entries":
        """From two columns (n,) on a common scale."""
        groups, _ = tie_groups(-np.concatenate([own, other]))
        order = np.argsort(groups, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(groups[order])) + 1, len(order))
        return cls(order % len(own), (order >= len(own)).astype(np.uint8), ends)


@numba.njit(cache=True, nogil=True)
def tied_pairs(segment: Any, side: Any, ends: Any, heads: Any, first: Any, both: Any) -> None:
    """Adds up pairs of equal predictions (B,): of the first pseudo-system, and of both."""
    samples = heads.shape[1]
    count = np.empty(samples, np.int64)
    start = 0
    for end in ends:
        if end - start > 1:
            count[:] = 0
            for e in range(start, end):
                row, own = heads[segment[e]], side[e]
                for s in range(samples):
                    count[s] += np.int64(row[s] == own)
            for s in range(samples):
                c, d = count[s], end - start - count[s]
                first[s] += c * (c - 1) // 2
                both[s] += c * (c - 1) // 2 + d * (d - 1) // 2
        start = end
