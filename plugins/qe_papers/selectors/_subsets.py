"""Held-out metrics of very many subsets of linear models: kernels."""

from typing import Any

import numba
import numpy as np

MAE, RMSE, DELTA_AVG = 0, 1, 2
METRIC_CODES = {"mae": MAE, "rmse": RMSE, "delta_avg": DELTA_AVG}


@numba.njit(cache=True, nogil=True)
def position_weights(n: int) -> Any:
    """(n,) w such that DeltaAvg = sum of w[i] gold[i] over segments ranked best first. DeltaAvg is linear in
    the labels once the ranking is known (WMT12 findings, equations 14 and 15).
    """
    heads = np.zeros(n + 1)
    most = n // 2
    for quantiles in range(2, most + 1):
        size = n // quantiles
        for k in range(1, quantiles):
            heads[k * size] += 1.0 / ((most - 1) * (quantiles - 1) * k * size)
    weights = np.full(n, -1.0 / n)
    running = 0.0
    for i in range(n - 1, -1, -1):
        running += heads[i + 1]
        weights[i] += running
    return weights


@numba.njit(cache=True, nogil=True)
def _quality(predicted: Any, gold: Any, weights: Any, metric: int) -> float:
    total = 0.0
    if metric == DELTA_AVG:
        order = np.argsort(-predicted)
        for i in range(len(gold)):
            total += weights[i] * gold[order[i]]
        return total
    for i in range(len(gold)):
        error = abs(predicted[i] - gold[i])
        total += error * error if metric == RMSE else error
    return -np.sqrt(total / len(gold)) if metric == RMSE else -total / len(gold)


@numba.njit(cache=True, nogil=True)
def _sweep(A: Any, pivot: int, reverse: bool) -> None:
    d = A[pivot, pivot]
    size = len(A)
    sign = -1.0 if reverse else 1.0
    for i in range(size):
        if i != pivot:
            factor = A[i, pivot] / d
            for j in range(size):
                if j != pivot:
                    A[i, j] -= factor * A[pivot, j]
    for i in range(size):
        if i != pivot:
            A[i, pivot] *= sign / d
            A[pivot, i] *= sign / d
    A[pivot, pivot] = -1.0 / d


@numba.njit(cache=True, nogil=True)
def exhaustive_scores(
    moments: Any,
    held_out_sums: Any,
    starts: Any,
    means: Any,
    gold: Any,
    weights: Any,
    metric: int,
    first: int,
    scores: Any,
) -> None:
    """Scores subsets gray(first), gray(first + 1), ...: neighbours differ by one feature.

    moments  (splits, k + 1, k + 1) Gram matrices of centred train features and labels, ridge included
    held     (n, k) held-out features less the train means, split after split, from `starts` (splits + 1,)
    means    (n,) the mean train label
    scores   (subsets,) is filled; the empty subset gets -inf
    """
    k = held_out_sums.shape[1]
    current = moments.copy()
    predicted = np.empty(len(held_out_sums))
    mask = first ^ (first >> 1)
    for s in range(len(moments)):
        for j in range(k):
            if mask >> j & 1:
                _sweep(current[s], j, False)
    for i in range(len(scores)):
        if i > 0:
            after = (first + i) ^ ((first + i) >> 1)
            flipped = 0
            while (mask ^ after) >> flipped & 1 == 0:
                flipped += 1
            for s in range(len(moments)):
                _sweep(current[s], flipped, mask >> flipped & 1 == 1)
            mask = after
        if mask == 0:
            scores[i] = -np.inf
            continue
        _predict(current, held_out_sums, starts, means, mask, predicted)
        scores[i] = _quality(predicted, gold, weights, metric)


@numba.njit(cache=True, nogil=True)
def _predict(current: Any, held_out_sums: Any, starts: Any, means: Any, mask: int, predicted: Any) -> None:
    k = held_out_sums.shape[1]
    used = np.empty(k, np.int64)
    size = 0
    for j in range(k):
        if mask >> j & 1:
            used[size] = j
            size += 1
    for s in range(len(starts) - 1):
        for i in range(starts[s], starts[s + 1]):
            total = means[i]
            for u in range(size):
                total += held_out_sums[i, used[u]] * current[s, used[u], k]
            predicted[i] = total


@numba.njit(cache=True, nogil=True)
def listed_scores(
    moments: Any,
    held_out_sums: Any,
    starts: Any,
    means: Any,
    gold: Any,
    weights: Any,
    metric: int,
    subsets: Any,
    scores: Any,
) -> None:
    """Scores the subsets listed as rows of column numbers (subsets, size), one by one."""
    k, size = held_out_sums.shape[1], subsets.shape[1]
    predicted = np.empty(len(held_out_sums))
    gram, right = np.empty((size, size)), np.empty(size)
    for i in range(len(subsets)):
        chosen = subsets[i]
        for s in range(len(moments)):
            for a in range(size):
                right[a] = moments[s, chosen[a], k]
                for b in range(size):
                    gram[a, b] = moments[s, chosen[a], chosen[b]]
            beta = np.linalg.solve(gram, right)
            for row in range(starts[s], starts[s + 1]):
                total = means[row]
                for a in range(size):
                    total += held_out_sums[row, chosen[a]] * beta[a]
                predicted[row] = total
        scores[i] = _quality(predicted, gold, weights, metric)
