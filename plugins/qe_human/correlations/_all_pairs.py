"""Tie calibration over all pairs of n values, exact. It does not hold the n (n - 1) / 2 differences.

A first pass counts, in narrow bins of the difference, the pairs that a threshold there gains and loses. The
accuracy at the edges of the bins is then known, and with it the bins that may hold the best threshold; the
differences in those alone are sorted.
"""

from typing import Any

import numba
import numpy as np

from features.basics.array_types import FloatArray

_BINS = 1 << 16


def calibrated_on_all_pairs(
    values: FloatArray, gold: FloatArray, calibrate: bool = True
) -> tuple[float, float]:
    """The best threshold and its accuracy over all pairs of (n,) values. See `acc_eq.best_threshold`.

    >>> calibrated_on_all_pairs(np.array([0.0, 2, 6, 8]), np.array([1.0, 1, 1, 4]))
    (4.0, 0.6666666666666666)
    """
    n = len(values)
    pairs = n * (n - 1) // 2
    gains, losses = np.zeros(_BINS, np.int64), np.zeros(_BINS, np.int64)
    low, high = np.full(_BINS, np.inf), np.zeros(_BINS)
    width = float(np.ptp(values)) / _BINS or 1.0
    base = int(_count(values, gold, width, gains, losses, low, high))
    if not calibrate:
        return 0.0, base / pairs
    at_edge = base + np.append(0, np.cumsum(gains - losses))
    best = int(np.argmax(at_edge))
    # If all differences of a bin are the same, its edge says all.
    inside = (gains > 0) & (low < high) & (at_edge[:-1] + gains >= at_edge[best])
    sizes, changes = _collected(values, gold, width, inside, int((gains + losses)[inside].sum()))
    order = np.argsort(sizes, kind="stable")
    sizes, changes = sizes[order], changes[order]
    bins = np.minimum((sizes / width).astype(np.int64), _BINS - 1)
    answers = [(int(at_edge[best]), -(0.0 if best == 0 else float(high[best - 1])))]
    for number in np.flatnonzero(inside):
        first, end = np.searchsorted(bins, [number, number + 1])
        reached = at_edge[number] + np.cumsum(changes[first:end])
        last = np.append(np.diff(sizes[first:end]) > 0, True)
        place = int(np.argmax(reached[last]))
        answers.append((int(reached[last][place]), -float(sizes[first:end][last][place])))
    correct, threshold = max(answers)  # of equal ones, the smallest threshold
    return abs(threshold), correct / pairs


def _collected(
    values: FloatArray, gold: FloatArray, width: float, indices: Any, total: int
) -> tuple[FloatArray, Any]:
    sizes, changes = np.empty(total), np.empty(total, np.int64)
    _collect(values, gold, width, indices, sizes, changes)
    return sizes, changes


@numba.njit(cache=True, nogil=True)
def _count(values: Any, gold: Any, width: float, gains: Any, losses: Any, low: Any, high: Any) -> int:
    base = 0
    for i in range(len(values)):
        for j in range(i):
            difference, judged = values[i] - values[j], gold[i] - gold[j]
            if difference == 0:
                base += judged == 0
                continue
            concordant = judged != 0 and (difference > 0) == (judged > 0)
            if concordant or judged == 0:
                size = abs(difference)
                place = min(int(size / width), len(gains) - 1)
                low[place], high[place] = min(low[place], size), max(high[place], size)
                gains[place] += not concordant
                losses[place] += concordant
                base += concordant
    return base


@numba.njit(cache=True, nogil=True)
def _collect(values: Any, gold: Any, width: float, indices: Any, sizes: Any, changes: Any) -> None:
    at = 0
    for i in range(len(values)):
        for j in range(i):
            difference, judged = values[i] - values[j], gold[i] - gold[j]
            if difference == 0 or (judged != 0 and (difference > 0) != (judged > 0)):
                continue
            if indices[min(int(abs(difference) / width), len(indices) - 1)]:
                sizes[at], changes[at] = abs(difference), 1 if judged == 0 else -1
                at += 1
