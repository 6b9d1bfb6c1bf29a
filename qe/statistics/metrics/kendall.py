"""Kendall's tau-b: agreement of pairs, corrected for ties."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import RankedMetric
from qe.statistics.metrics.ranks import Entries, tie_groups, tied_pairs

_LARGEST = 8000  # segments whose pairs are kept as bits (64 MB)


class Kendall(RankedMetric):
    """Kendall's tau-b, -1 .. 1, which corrects for ties.

    (concordant - discordant) / sqrt(pairs untied in gold x pairs untied in predictions).

    NaN if gold or predictions are constant. O(n log n).

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

    def exchanged(
        self, gold: FloatArray, system: FloatArray, baseline: FloatArray, swapped: NDArray[np.bool_]
    ) -> FloatArray:
        if len(gold) > _LARGEST:
            return super().exchanged(gold, system, baseline, swapped)
        entries, samples = Entries.from_predictions(system, baseline), swapped.shape[1]
        labels, _ = tie_groups(gold)
        labels = labels[entries.segment]
        words = (len(labels) + 63) // 64
        above, below = np.zeros((2, len(labels), words), np.uint64)
        balances = np.zeros(len(labels), np.int64)
        _pairs(labels, entries.ends, above, below, balances)
        sums = np.zeros((2, samples), np.int64)
        _exchanged(
            above, below, balances, entries.segment, entries.side, np.ascontiguousarray(swapped.T), sums
        )
        ties = np.zeros((2, samples), np.int64)
        tied_pairs(entries.segment, entries.side, entries.ends, swapped, *ties)
        pairs = len(gold) * (len(gold) - 1) // 2
        sizes = np.bincount(tie_groups(gold)[0])
        untied_gold = pairs - int((sizes * (sizes - 1) // 2).sum())
        first, difference = sums
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = [
                np.where(
                    untied > 0, balance / np.sqrt(float(untied_gold) * untied.astype(np.float64)), np.nan
                )
                for balance, untied in (
                    (first, pairs - ties[0]),
                    (first - difference // 2, pairs - (ties[1] - ties[0])),
                )
            ]
        return np.asarray(scores[0] - scores[1])


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


@intrinsic
def _set_bits(typingctx: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(builder.bitcast(arguments[0], ir.IntType(64)))

    return types.uint64(types.uint64), generate


@numba.njit(cache=True, nogil=True)
def _pairs(labels: Any, ends: Any, above: Any, below: Any, balances: Any) -> None:
    start = 0
    for end in ends:
        for e in range(start, end):
            label = labels[e]
            for first in range(0, start, 64):
                higher, lower = np.uint64(0), np.uint64(0)
                for f in range(first, min(first + 64, start)):
                    up, down = np.uint64(labels[f] > label), np.uint64(labels[f] < label)
                    higher |= up << np.uint64(f - first)
                    lower |= down << np.uint64(f - first)
                    balances[f] += np.int64(up) - np.int64(down)
                above[e, first // 64], below[e, first // 64] = higher, lower
                balances[e] += np.int64(_set_bits(higher)) - np.int64(_set_bits(lower))
        start = end


@numba.njit(cache=True, nogil=True)
def _balance_with(above: Any, below: Any, members: Any, words: int) -> Any:
    total = np.uint64(0)
    for w in range(words):
        total += _set_bits(above[w] & members[w])
        total -= _set_bits(below[w] & members[w])
    return np.int64(total)


@numba.njit(cache=True, nogil=True)
def _exchanged(
    above: Any, below: Any, balances: Any, segment: Any, side: Any, swapped: Any, sums: Any
) -> None:
    entries, words = above.shape
    samples = len(swapped)
    members = np.zeros((samples, words), np.uint64)
    for e in range(entries):
        word, bit = e >> 6, np.uint64(1) << np.uint64(e & 63)
        for s in range(samples):
            if swapped[s, segment[e]] == side[e]:
                sums[0, s] += _balance_with(above[e], below[e], members[s], word + 1)
                members[s, word] |= bit
                sums[1, s] += balances[e]
            else:
                sums[1, s] -= balances[e]
