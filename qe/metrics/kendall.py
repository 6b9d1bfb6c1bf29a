"""Kendall's tau-b: agreement of pairs, corrected for ties."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from qe.metrics._base import FloatArray, RankedMetric, finite_pair
from qe.metrics._ranks import ones, tie_groups


class Kendall(RankedMetric):
    """(concordant - discordant) / sqrt(pairs untied in gold x pairs untied in predictions), -1 .. 1.

    NaN where gold or predictions are constant. O(n log n).

    >>> round(Kendall().score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 6)
    0.666667
    """

    higher_is_better = True

    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        gold, predicted = finite_pair(gold, predicted)
        return float(self.resample(gold, predicted, ones(len(gold)))[0])

    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        gold_groups, _ = tie_groups(gold)
        predicted_groups, size = tie_groups(predicted)
        order = np.argsort(gold_groups, kind="stable")
        scores = np.empty(len(counts))
        _resample(gold_groups[order], predicted_groups[order], size, order, counts, scores)
        return scores


@numba.njit(cache=True, nogil=True)
def _below(tree: Any, group: int) -> int:
    """How many entries of the Fenwick tree lie in groups 0 .. group - 1."""
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
def _balance(gold: Any, predicted: Any, drawn: Any, tree: Any) -> tuple[int, int]:
    """Concordant minus discordant pairs; pairs tied in gold. Rows come by rising gold."""
    tree[:] = 0
    balance, gold_ties, inserted, i, n = 0, 0, 0, 0, len(gold)
    while i < n:
        start, size = i, 0
        while i < n and gold[i] == gold[start]:
            if drawn[i] > 0:
                below = _below(tree, predicted[i])
                above = inserted - _below(tree, predicted[i] + 1)
                balance += drawn[i] * (below - above)
                size += drawn[i]
            i += 1
        for j in range(start, i):
            if drawn[j] > 0:
                _insert(tree, predicted[j], drawn[j])
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
