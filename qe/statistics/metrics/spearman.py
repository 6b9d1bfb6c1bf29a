"""Spearman: correlation of ranks, ties with average ranks."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric
from qe.statistics.metrics._exchange import Entries
from qe.statistics.metrics._ranks import tie_groups


class Spearman(RankedMetric):
    """Pearson correlation of average ranks, -1 .. 1; NaN if gold or predictions are constant.

    >>> Spearman().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    0.8
    """

    title = "Spearman"
    help = "correlation of ranks, -1 to 1"
    kind = "ranking"
    higher_is_better = True
    interval_scale = "fisher"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        scores = np.empty(len(counts))
        _resample(*tie_groups(gold), *tie_groups(predicted), counts, scores)
        return scores

    def exchanged(
        self, gold: FloatArray, own: FloatArray, other: FloatArray, heads: NDArray[np.bool_]
    ) -> FloatArray:
        entries, samples = Entries.of(own, other), heads.shape[1]
        groups, count = tie_groups(gold)
        ranks = np.empty(count)
        _average_ranks(groups, ranks, np.ones(len(gold), np.int32))
        centred = ranks[groups] - (len(gold) + 1) / 2.0
        sums = np.zeros((4, samples))
        _exchanged(centred[entries.segment], entries.segment, entries.side, entries.ends, heads, sums)
        xx, cube = float(centred @ centred), float(len(gold)) ** 3 - len(gold)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Ranks are multiples of 1/2: constant sides give exactly 0.
            first, second = (
                np.where((xx > 0) & (cube > ties), -xy / np.sqrt(xx * (cube - ties) / 12.0), np.nan)
                for xy, ties in (sums[:2], sums[2:])
            )
        return np.asarray(first - second)


@numba.njit(cache=True, nogil=True)
def _average_ranks(groups: Any, sizes: Any, counts: Any) -> None:
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


@numba.njit(cache=True, nogil=True)
def _exchanged(x: Any, segment: Any, side: Any, ends: Any, heads: Any, sums: Any) -> None:
    samples = heads.shape[1]
    position, count, total = np.zeros(samples), np.zeros(samples), np.zeros(samples)
    start = 0
    for end in ends:
        count[:] = 0.0
        total[:] = 0.0
        whole = 0.0
        for e in range(start, end):
            value, own, row = x[e], side[e], heads[segment[e]]
            whole += value
            for s in range(samples):
                count[s] += 1.0 if row[s] == own else 0.0
                total[s] += value if row[s] == own else 0.0
        for s in range(samples):
            c, p = count[s], position[s]
            d, q = end - start - c, start - p
            sums[0, s] += total[s] * (p + (c + 1.0) / 2.0)
            sums[1, s] += c * (c * c - 1.0)
            sums[2, s] += (whole - total[s]) * (q + (d + 1.0) / 2.0)
            sums[3, s] += d * (d * d - 1.0)
            position[s] = p + c
        start = end
