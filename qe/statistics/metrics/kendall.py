"""Kendall's tau-b: agreement of pairs, corrected for ties."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric
from qe.statistics.metrics.ranks import tie_groups


class Kendall(RankedMetric):
    """Kendall's tau-b, -1 .. 1, which corrects for ties; NaN if gold or predictions are constant.

    (concordant - discordant) / sqrt(pairs untied in gold x pairs untied in predictions).

    >>> round(Kendall().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 6)
    0.666667
    """

    title = "Kendall"
    help = "agreement on pairs of segments (tau-b), -1 to 1"
    kind = "ranking"
    higher_is_better = True
    interval_scale = "fisher"

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        gold_groups, _ = tie_groups(gold)
        predicted_groups, size = tie_groups(predicted)
        order = np.argsort(gold_groups, kind="stable")
        scores = np.empty(len(counts))
        _resample(gold_groups[order], predicted_groups[order], size, order, counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _below(tree: Any, group: int) -> int:
    total = 0
    while group > 0:
        total += tree[group]
        group -= group & -group
    return total


@numba.njit(cache=True, nogil=True)
def _insert(tree: Any, group: int, count: int) -> None:
    group += 1
    while group < len(tree):
        tree[group] += count
        group += group & -group


@numba.njit(cache=True, nogil=True)
def _balance(gold: Any, predicted: Any, counts: Any, tree: Any) -> tuple[int, int]:
    tree[:] = 0
    balance, gold_ties, inserted, i, n = 0, 0, 0, 0, len(gold)
    while i < n:
        start, size = i, 0
        while i < n and gold[i] == gold[start]:
            if counts[i] > 0:
                below = _below(tree, predicted[i])
                above = inserted - _below(tree, predicted[i] + 1)
                balance += counts[i] * (below - above)
                size += counts[i]
            i += 1
        for j in range(start, i):
            if counts[j] > 0:
                _insert(tree, predicted[j], counts[j])
        gold_ties += size * (size - 1) // 2
        inserted += size
    return balance, gold_ties


@numba.njit(cache=True, nogil=True)
def _resample(gold: Any, predicted: Any, groups: int, order: Any, counts: Any, scores: Any) -> None:
    tree, sizes = np.zeros(groups + 1, np.int64), np.zeros(groups, np.int64)
    drawn = np.zeros(len(gold), np.int64)
    for b in range(len(counts)):
        sizes[:] = 0
        total = 0
        for i in range(len(gold)):
            drawn[i] = counts[b, order[i]]
            sizes[predicted[i]] += drawn[i]
            total += drawn[i]
        balance, gold_ties = _balance(gold, predicted, drawn, tree)
        pairs = total * (total - 1) // 2
        ties = 0
        for g in range(groups):
            ties += sizes[g] * (sizes[g] - 1) // 2
        untied = float(pairs - gold_ties) * float(pairs - ties)
        scores[b] = balance / np.sqrt(untied) if untied > 0.0 else np.nan
