"""Entropies of discretised features: Fayyad and Irani's cut points, information gain."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray


def classes(y: FloatArray, interval: float) -> NDArray[np.int64]:
    """(n,) labels rounded to multiples of `interval`, numbered from 0.

    >>> classes(np.array([2.9, 1.2, 3.1]), 1.0).tolist()
    [1, 0, 1]
    """
    return np.unique(np.round(y / interval), return_inverse=True)[1].astype(np.int64)


def gains(X: FloatArray, labels: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """(k,) information gain of each feature about the labels, and the feature's own entropy, in bits.

    A feature is cut where the minimum description length allows; uncut features have 0 and 0.

    Source: Fayyad and Irani 1993; Kullback and Leibler 1951.
    """
    gain, own = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    whole = _entropy(np.bincount(labels))
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        bins = mdl_bins(X[order, j], labels[order], int(labels.max()) + 1)
        table = np.zeros((int(bins.max()) + 1, int(labels.max()) + 1))
        np.add.at(table, (bins, labels[order]), 1.0)
        sizes = table.sum(axis=1)
        own[j] = _entropy(sizes)
        gain[j] = max(
            whole - sum(n * _entropy(row) for n, row in zip(sizes, table, strict=True)) / len(X), 0.0
        )
    return gain, own


@numba.njit(cache=True, nogil=True)
def _entropy(counts: Any) -> float:
    total, result = counts.sum(), 0.0
    for count in counts:
        if count > 0:
            result -= count / total * np.log2(count / total)
    return result


@numba.njit(cache=True, nogil=True)
def mdl_bins(values: Any, labels: Any, n_classes: int) -> Any:
    """(n,) bin of each of the rising values; intervals are cut in two as long as that shortens the code."""
    n = len(values)
    is_cut = np.zeros(n + 1, np.bool_)
    stack = [(0, n)]
    while len(stack) > 0:
        start, end = stack.pop()
        at = _cut(values, labels, n_classes, start, end)
        if at > 0:
            is_cut[at] = True
            stack.append((start, at))
            stack.append((at, end))
    return np.cumsum(is_cut[:n].astype(np.int64))


@numba.njit(cache=True, nogil=True)
def _cut(values: Any, labels: Any, n_classes: int, start: int, end: int) -> int:
    """First place of the right part after the cut of least entropy; -1 if Fayyad and Irani refuse it."""
    n = end - start
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(start, end):
        right[labels[i]] += 1
    whole, n_present = _entropy(right), (right > 0).sum()
    best, at, best_left, best_right = whole, -1, left.copy(), right.copy()
    for i in range(start, end - 1):
        left[labels[i]] += 1
        right[labels[i]] -= 1
        if values[i] < values[i + 1]:
            share = (i + 1 - start) / n
            value = share * _entropy(left) + (1 - share) * _entropy(right)
            if value < best:
                best, at = value, i + 1
                best_left[:], best_right[:] = left, right
    if at < 0:
        return -1
    n_left, n_right = (best_left > 0).sum(), (best_right > 0).sum()
    saved = n_present * whole - n_left * _entropy(best_left) - n_right * _entropy(best_right)
    cost = np.log2(n - 1.0) + np.log2(3.0**n_present - 2) - saved
    return at if whole - best > cost / n else -1
