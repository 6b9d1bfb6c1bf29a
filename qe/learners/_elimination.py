"""Least squares with backward elimination of attributes, as M5' fits the model of a node."""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from features.core.array_types import FloatArray

_RIDGE = 1e-8  # on standardised attributes; keeps collinear ones solvable without moving the others
_LARGEST_COEFFICIENT = 1.5  # standardised; beyond it two attributes are taken to cancel each other


@dataclass(frozen=True, eq=False)
class LinearModel:
    """`intercept + X[:, attributes] @ coefficients`; the attributes are those that survived."""

    attributes: NDArray[np.int64]
    coefficients: FloatArray
    intercept: float

    def predict(self, X: FloatArray) -> FloatArray:
        predicted: FloatArray = X[:, self.attributes] @ self.coefficients + self.intercept
        return predicted


def fit_by_elimination(X: FloatArray, y: FloatArray, attributes: NDArray[np.int64]) -> LinearModel:
    """Least squares of y (n,) on the `attributes` of X (n, k), the useless ones eliminated.

    First, while a standardised coefficient exceeds 1.5, the attribute with the largest goes: it is collinear
    with another. Then the attribute with the smallest standardised coefficient goes as long as that lowers
    Akaike's criterion, RSS / RSS_full (n - p) + 2 q, with p and q parameters before and now.

    Constant attributes are left out; a constant y gives a constant model.

    Source: Wang and Witten 1997, Section 3; criterion as in Weka 3.9, the oracle.
    """
    centre = float(y.mean())
    spread = _deviation(X[:, attributes]) if len(attributes) and len(y) > 1 else np.zeros(len(attributes))
    used = attributes[spread > 0]
    if not len(used) or not y.std() > 0:
        return LinearModel(used[:0], np.zeros(0), centre)
    means, spread = X[:, used].mean(axis=0), spread[spread > 0]
    Z, residual = (X[:, used] - means) / spread, y - centre
    gram, moments = Z.T @ Z, Z.T @ residual
    inverse = _ridge_inverse(gram)
    beta = inverse @ moments
    rss = float(((residual - Z @ beta) ** 2).sum())
    keep = _eliminate(inverse, beta, rss, float(np.std(y, ddof=1)), len(y))
    beta = _ridge_inverse(gram[np.ix_(keep, keep)]) @ moments[keep]
    coefficients = beta / spread[keep]
    return LinearModel(used[keep], coefficients, centre - float(coefficients @ means[keep]))


def _deviation(X: FloatArray) -> FloatArray:
    """(k,) standard deviations (n - 1); exactly 0 for columns that hold one value."""
    return np.where(np.ptp(X, axis=0) > 0, X.std(axis=0, ddof=1), 0.0)


def _ridge_inverse(gram: FloatArray) -> FloatArray:
    """Inverse of gram + ridge, the ridge ten times larger until that is positive definite."""
    ridge, identity = _RIDGE, np.eye(len(gram))
    while True:
        try:
            inverse: FloatArray = cho_solve(cho_factor(gram + ridge * identity), identity)
            return inverse
        except LinAlgError:
            ridge *= 10


@numba.njit(cache=True, nogil=True)
def _eliminate(
    inverse: FloatArray, beta: FloatArray, rss: float, label_deviation: float, n: int
) -> NDArray[np.bool_]:
    """(p,) which attributes stay; `inverse` and `beta` are updated in place as attributes go."""
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
    """The first kept attribute with the largest (sign 1) or smallest (sign -1) |beta|."""
    best = -1
    for j in range(len(beta)):
        if keep[j] and (best < 0 or sign * abs(beta[j]) > sign * abs(beta[best])):
            best = j
    return best


@numba.njit(cache=True, nogil=True)
def drop_attribute(inverse: FloatArray, beta: FloatArray, keep: NDArray[np.bool_], out: int) -> None:
    """Takes attribute `out` from the least-squares solution: O(p^2) by the block inverse."""
    keep[out] = False
    column = inverse[:, out].copy()
    pivot = column[out]
    step = beta[out] / pivot
    for i in range(len(beta)):
        if keep[i]:
            beta[i] -= step * column[i]
            factor = column[i] / pivot
            for j in range(len(beta)):
                inverse[i, j] -= factor * column[j]
    beta[out] = 0.0
