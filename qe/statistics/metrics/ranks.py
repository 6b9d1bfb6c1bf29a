"""Metrics of ranks: ties, exchanges of predictions between two systems, Spearman, ranking accuracy.

For exchanges all 2 n predictions of both systems are sorted once, best first; in every shuffle each entry
belongs to one of two pseudo-systems. Kernels walk the entries and keep one state per shuffle, so that
compilers vectorise over shuffles.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from qe.statistics.draws import CountArray
from qe.statistics.metric import METRICS, RankedMetric


def tie_groups(values: FloatArray) -> tuple[IntArray, int]:
    """(n,) the group of each value and the number of groups.

    Group 0 has the smallest value; equal values share a group.

    >>> tie_groups(np.array([2.0, 1.0, 2.0]))
    (array([1, 0, 1]), 2)
    """
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.astype(np.int64), len(distinct)


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
    def from_predictions(cls, system: FloatArray, baseline: FloatArray) -> "Entries":
        """From two columns (n,) on a common scale."""
        groups, _ = tie_groups(-np.concatenate([system, baseline]))
        order = np.argsort(groups, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(groups[order])) + 1, len(order))
        return cls(order % len(system), (order >= len(system)).astype(np.uint8), ends)


@numba.njit(cache=True, nogil=True)
def tied_pairs(segment: Any, side: Any, ends: Any, swapped: Any, first: Any, all_pairs: Any) -> None:
    """Adds up pairs of equal predictions (B,): of the first pseudo-system, and of all pairs in either."""
    samples = swapped.shape[1]
    count = np.empty(samples, np.int64)
    start = 0
    for end in ends:
        if end - start > 1:
            count[:] = 0
            for e in range(start, end):
                row, own = swapped[segment[e]], side[e]
                for s in range(samples):
                    count[s] += np.int64(row[s] == own)
            for s in range(samples):
                c, d = count[s], end - start - count[s]
                first[s] += c * (c - 1) // 2
                all_pairs[s] += c * (c - 1) // 2 + d * (d - 1) // 2
        start = end


@METRICS.register("spearman")
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

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: CountArray) -> FloatArray:
        scores = np.empty(len(counts))
        _resample(*tie_groups(gold), *tie_groups(predicted), counts, scores)
        return scores

    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: BoolArray
    ) -> FloatArray:
        entries, samples = Entries.from_predictions(system, baseline), swapped.shape[1]
        groups, count = tie_groups(gold)
        ranks = np.empty(count)
        _average_ranks(groups, ranks, np.ones(len(gold), np.int32))
        centred = ranks[groups] - (len(gold) + 1) / 2.0
        sums = np.zeros((4, samples))
        _exchanged(centred[entries.segment], entries.segment, entries.side, entries.ends, swapped, sums)
        xx, cube = float(centred @ centred), float(len(gold)) ** 3 - len(gold)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Ranks are multiples of 1/2: constant sides give exactly 0.
            first, second = (
                np.where((xx > 0) & (cube > ties), -xy / np.sqrt(xx * (cube - ties) / 12.0), np.nan)
                for xy, ties in (sums[:2], sums[2:])
            )
        return np.asarray(first - second)


@METRICS.register("ranking_accuracy")
class RankingAccuracy(RankedMetric):
    """rAcc[2]: share of elements ranked into their true half, 0 .. 1; .5 for a guess.

    The better half holds n // 2 elements; equal values at the border belong to it in part, so that the score
    is the expected one if ties are broken at random. NaN for fewer than 2 elements.

    Source: Soricut and Narsale 2012, section 3.3.

    >>> RankingAccuracy().score(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]))
    0.5
    """

    title = "rAcc[2]"
    help = "share that is put into its true half"
    kind = "ranking"
    higher_is_better = True

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: CountArray) -> FloatArray:
        true, predicted_half = _better_half(gold, counts), _better_half(predicted, counts)
        agreed = (counts * (true * predicted_half + (1.0 - true) * (1.0 - predicted_half))).sum(axis=1)
        total = counts.sum(axis=1)
        return np.where(total < 2, np.nan, agreed / np.maximum(total, 1))


def _better_half(values: FloatArray, counts: CountArray) -> FloatArray:
    groups, count = tie_groups(values)
    sizes = np.zeros((count, len(counts)))
    np.add.at(sizes, groups, counts.T)
    sizes = sizes.T
    above = sizes[:, ::-1].cumsum(axis=1)[:, ::-1] - sizes
    room = counts.sum(axis=1)[:, None] // 2 - above
    shares: FloatArray = np.clip(room / np.maximum(sizes, 1.0), 0.0, 1.0)[:, groups]
    return shares


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
def _exchanged(x: Any, segment: Any, side: Any, ends: Any, swapped: Any, sums: Any) -> None:
    samples = swapped.shape[1]
    position, count, total = np.zeros(samples), np.zeros(samples), np.zeros(samples)
    start = 0
    for end in ends:
        count[:] = 0.0
        total[:] = 0.0
        whole = 0.0
        for e in range(start, end):
            value, own, row = x[e], side[e], swapped[segment[e]]
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
