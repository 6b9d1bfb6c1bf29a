"""DeltaAvg: the gain in quality of segments ranked first over all (WMT12, eq. 14 and 15)."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric, finite_pair
from qe.statistics.metrics.ranks import tie_groups


class DeltaAvg(RankedMetric):
    """Mean gold label of the top quantiles minus the overall mean, in label units.

    NaN for fewer than 4 segments. Segments with equal predictions count with the expected value over all
    their orders, so that a constant prediction scores 0; the 2012 scorer took the order from the submitted
    ranks (`qe.evaluation.official_scorer`). Source: Callison-Burch et al. 2012, section 6.2.

    >>> gold = np.array([2.0, 2.8, 3.0, 3.2])
    >>> round(DeltaAvg().score(gold, gold), 6)
    0.35
    """

    title = "DeltaAvg"
    help = "gain in label units of the segments ranked first over all segments"
    kind = "ranking"
    higher_is_better = True

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        order, groups = _best_first(predicted)
        scores = np.empty(len(counts))
        _resample(gold[order], groups, order, counts, scores)
        return scores


def delta_avg_by_n(gold: FloatArray, predicted: FloatArray) -> FloatArray:
    """DeltaAvg[n] for n = 2 .. floor(N/2) quantiles: (floor(N/2) - 1,), empty for fewer than 4 segments.

    Source: Callison-Burch et al. 2012, equation 14; the last quantile holds the rest.
    """
    gold, predicted = finite_pair(gold, predicted)
    order, groups = _best_first(predicted)
    expected = np.bincount(groups, gold[order]) / np.bincount(groups) if len(gold) else gold
    return _by_quantiles(expected[groups]) if len(gold) >= 4 else np.empty(0)


def _best_first(predicted: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    groups, _ = tie_groups(-predicted)
    order = np.argsort(groups, kind="stable")
    return order, groups[order]


@numba.njit(cache=True, nogil=True)
def _by_quantiles(ranked: Any) -> Any:
    total = len(ranked)
    sums = np.empty(total + 1)
    sums[0] = 0.0
    for i in range(total):
        sums[i + 1] = sums[i] + ranked[i]
    mean = sums[total] / total
    result = np.empty(total // 2 - 1)
    n = 2
    while n <= total // 2:
        q = total // n
        last = min(total // q, total // 2)
        head_means = 0.0
        for k in range(1, last):
            head_means += sums[k * q] / (k * q)
            if k + 1 >= n:
                result[k - 1] = head_means / k - mean
        n = last + 1
    return result


@numba.njit(cache=True, nogil=True)
def _cumulative_weights(total: int) -> Any:
    half = total // 2
    harmonic = np.zeros(half + 1)
    for n in range(1, half + 1):
        harmonic[n] = harmonic[n - 1] + 1.0 / n
    head = np.zeros(total + 1)
    n = 2
    while n <= half:
        q = total // n
        last = min(total // q, half)
        for k in range(1, last):
            share = harmonic[last - 1] - harmonic[max(n, k + 1) - 2]
            head[k * q] += share / (k * q * (half - 1))
        n = last + 1
    weights = np.zeros(total + 1)
    running = head.sum()
    for i in range(total):
        running -= head[i]
        weights[i + 1] = weights[i] + running
    return weights


@numba.njit(cache=True, nogil=True)
def _resample(gold: Any, groups: Any, order: Any, counts: Any, scores: Any) -> None:
    weights = np.zeros(1)
    for b in range(len(counts)):
        total = 0
        for i in range(counts.shape[1]):
            total += counts[b, i]
        if total < 4:
            scores[b] = np.nan
            continue
        if len(weights) != total + 1:
            weights = _cumulative_weights(total)
        scores[b] = _weighted(gold, groups, order, counts[b], total, weights)


@numba.njit(cache=True, nogil=True)
def _weighted(gold: Any, groups: Any, order: Any, counts: Any, total: int, weights: Any) -> float:
    score, whole = 0.0, 0.0
    position, i, n = 0, 0, len(gold)
    while i < n:
        group, size, labels = groups[i], 0, 0.0
        while i < n and groups[i] == group:
            drawn = counts[order[i]]
            size += drawn
            labels += drawn * gold[i]
            i += 1
        if size == total:
            return 0.0
        if size > 0:
            score += labels * (weights[position + size] - weights[position]) / size
            whole += labels
            position += size
    return score - whole / total
