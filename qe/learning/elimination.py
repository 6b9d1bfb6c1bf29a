"""Least squares with backward elimination of attributes, as in the nodes of M5' trees."""

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray

_RIDGE = 1e-8  # on standardised attributes; makes collinear ones solvable without changing the others
_CONSTANT = 1e-290  # maximum squared range of a constant attribute, whose variance may be 0
_LARGEST_COEFFICIENT = 1.5  # standardised; larger coefficients indicate that two attributes cancel


@numba.njit(cache=True, nogil=True)
def fit_by_elimination(
    X: FloatArray, y: FloatArray, attributes: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], FloatArray, float]:
    """Least squares of `rows` of y (n,) on `attributes` of X (n, k), without uninformative attributes.

    Returns the remaining attributes, their coefficients and the intercept. First, while a standardised
    coefficient exceeds 1.5, the attribute with the largest one is dropped as collinear. Then the attribute
    with the smallest is dropped as long as that lowers Akaike's criterion, RSS / RSS_full (n - p) + 2 q, with
    p parameters before and q after. Source: Wang and Witten 1997, Section 3; criterion as in Weka 3.9.
    """
    n, labels = len(rows), y[rows]
    centre = labels.mean()
    varying = np.array([np.ptp(X[:, a][rows]) ** 2 > _CONSTANT for a in attributes], np.bool_)
    used = attributes[varying]
    if len(used) == 0 or np.ptp(labels) == 0:
        return used[:0], np.zeros(0), centre
    Z, residual = np.empty((len(used), n)), labels - centre
    means, spread = np.empty(len(used)), np.empty(len(used))
    for k in range(len(used)):
        column = X[:, used[k]][rows]
        means[k] = column.mean()
        column -= means[k]
        spread[k] = np.sqrt((column**2).sum() / (n - 1))
        Z[k] = column / spread[k]
    gram, moments = Z @ Z.T, Z @ residual
    inverse = _ridge_inverse(gram)
    beta = inverse @ moments
    rss = ((residual - beta @ Z) ** 2).sum()
    keep = np.flatnonzero(_eliminate(inverse, beta, rss, np.sqrt((residual**2).sum() / (n - 1)), n))
    beta = _ridge_inverse(gram[keep][:, keep]) @ moments[keep]
    coefficients = beta / spread[keep]
    return used[keep], coefficients, centre - (coefficients * means[keep]).sum()


@numba.njit(cache=True, nogil=True)
def _ridge_inverse(gram: FloatArray) -> FloatArray:
    size, ridge = len(gram), _RIDGE
    inverse = np.zeros((size, size))
    while True:
        factor = np.zeros((size, size))
        if _factorised(gram, ridge, factor):
            break
        ridge *= 10
    upper = factor.T.copy()
    for j in range(size):  # column j equals row j: forward, then backward substitution
        solved = inverse[j]
        for i in range(j, size):
            value = 1.0 if i == j else 0.0
            for k in range(j, i):
                value -= factor[i, k] * solved[k]
            solved[i] = value / factor[i, i]
        for i in range(size - 1, -1, -1):
            value = solved[i]
            for k in range(i + 1, size):
                value -= upper[i, k] * solved[k]
            solved[i] = value / factor[i, i]
    return inverse


@numba.njit(cache=True, nogil=True)
def _factorised(gram: FloatArray, ridge: float, factor: FloatArray) -> bool:
    for j in range(len(gram)):
        for i in range(j, len(gram)):
            value = gram[i, j] + (ridge if i == j else 0.0)
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = value / factor[j, j]
            elif value > 0:
                factor[j, j] = np.sqrt(value)
            else:
                return False
    return True


@numba.njit(cache=True, nogil=True)
def _eliminate(
    inverse: FloatArray, beta: FloatArray, rss: float, label_deviation: float, n: int
) -> NDArray[np.bool_]:
    keep = np.ones(len(beta), np.bool_)
    while keep.any():
        largest = _extreme(beta, keep, 1.0)
        if abs(beta[largest]) / label_deviation <= _LARGEST_COEFFICIENT:
            break
        rss += beta[largest] ** 2 / inverse[largest, largest]
        drop_attribute(inverse, beta, keep, largest)
    full_rss, p = rss, keep.sum() + 1
    criterion = n - p + 2.0 * p
    while keep.any():
        smallest = _extreme(beta, keep, -1.0)
        without = rss + beta[smallest] ** 2 / inverse[smallest, smallest]
        lower = without / full_rss * (n - p) + 2.0 * keep.sum() if full_rss > 0 else np.inf
        if not lower < criterion:
            break
        criterion, rss = lower, without
        drop_attribute(inverse, beta, keep, smallest)
    return keep


@numba.njit(cache=True, nogil=True)
def _extreme(beta: FloatArray, keep: NDArray[np.bool_], sign: float) -> int:
    best = -1
    for j in range(len(beta)):
        if keep[j] and (best < 0 or sign * abs(beta[j]) > sign * abs(beta[best])):
            best = j
    return best


@numba.njit(cache=True, nogil=True)
def drop_attribute(inverse: FloatArray, beta: FloatArray, keep: NDArray[np.bool_], dropped: int) -> None:
    """Removes attribute `dropped` from the least-squares solution: O(p^2) by the block inverse."""
    keep[dropped] = False
    column = inverse[:, dropped].copy()
    pivot = column[dropped]
    step = beta[dropped] / pivot
    for i in range(len(beta)):
        if keep[i]:
            beta[i] -= step * column[i]
            factor = column[i] / pivot
            for j in range(len(beta)):
                inverse[i, j] -= factor * column[j]
    beta[dropped] = 0.0
