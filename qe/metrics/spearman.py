"""Spearman: correlation of ranks, ties with average ranks."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from qe.metrics._base import FloatArray, RankedMetric, finite_pair
from qe.metrics._ranks import ones, tie_groups


class Spearman(RankedMetric):
    """Pearson correlation of average ranks, -1 .. 1; NaN where gold or predictions are constant.

    >>> Spearman().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    0.8
    """

    higher_is_better = True

    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        gold, predicted = finite_pair(gold, predicted)
        return float(self.resample(gold, predicted, ones(len(gold)))[0])

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        scores = np.empty(len(counts))
        _resample(*tie_groups(gold), *tie_groups(predicted), counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _average_ranks(groups: Any, sizes: Any, counts: Any) -> None:
    """Fills `sizes` (one per group) with the average rank of the group in this resample."""
    sizes[:] = 0.0
    for i in range(len(groups)):
        sizes[groups[i]] += counts[i]
    below = 0.0
    for g in range(len(sizes)):
        size = sizes[g]
        sizes[g] = below + (size + 1.0) / 2.0
        below += size


@numba.njit(cache=True, nogil=True)
def _resample(
    gold: Any, gold_groups: int, predicted: Any, predicted_groups: int, counts: Any, scores: Any
) -> None:
    gold_ranks, predicted_ranks = np.empty(gold_groups), np.empty(predicted_groups)
    for b in range(len(counts)):
        _average_ranks(gold, gold_ranks, counts[b])
        _average_ranks(predicted, predicted_ranks, counts[b])
        total = 0
        for i in range(len(gold)):
            total += counts[b, i]
        middle = (total + 1) / 2.0
        xx, yy, xy = 0.0, 0.0, 0.0
        for i in range(len(gold)):
            x, y = gold_ranks[gold[i]] - middle, predicted_ranks[predicted[i]] - middle
            xx += counts[b, i] * x * x
            yy += counts[b, i] * y * y
            xy += counts[b, i] * x * y
        # Ranks are multiples of 1/2, so that a constant side gives exactly 0.
        scores[b] = xy / np.sqrt(xx * yy) if xx > 0.0 and yy > 0.0 else np.nan
