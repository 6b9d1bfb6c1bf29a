"""Metrics of ranks: Spearman, ranking accuracy."""

from typing import Any

import numba
import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.statistics.draws import CountArray
from qe.statistics.metric import METRICS, RankedMetric


def tie_groups(values: FloatArray) -> tuple[IntArray, int]:
    """(n,) the group of each value, in rising order, and the number of groups; equal values share one."""
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.astype(np.int64), len(distinct)


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


@METRICS.register("ranking_accuracy")
class RankingAccuracy(RankedMetric):
    """rAcc[2]: share of elements ranked into their true half, 0 .. 1; .5 for a guess.

    The better half holds n // 2 elements; equal values at the border belong to it in part, so that the score
    is the expected one if ties are broken at random. NaN for fewer than 2 elements. Source: Soricut and
    Narsale 2012, section 3.3.

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
