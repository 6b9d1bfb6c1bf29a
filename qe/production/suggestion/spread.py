"""Rows that are drawn far from each other."""

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray


def spread(
    points: FloatArray, weights: FloatArray, known: FloatArray, count: int, seed: int
) -> NDArray[np.int64]:
    """`count` of the (m, d) points, in the order drawn, none twice.

    Each is drawn with a probability proportional to its weight, times its squared distance to the nearest
    point that is drawn or `known` (k-means++, Arthur and Vassilvitskii 2007). Points in the place of another
    are drawn last, in their order.

    weights  (m,) not negative
    known    (n, d) points that are taken already
    """
    generator, left = np.random.default_rng(seed), np.asarray(weights, np.float64).copy()
    nearest = _nearest(points, known)
    chosen: list[int] = []
    while len(chosen) < count:
        mass = nearest * left
        total = float(mass.sum())
        if not total > 0:
            free = np.setdiff1d(np.arange(len(points)), chosen)
            return np.array([*chosen, *free[: count - len(chosen)]], np.int64)
        possible = np.flatnonzero(mass)
        place = np.searchsorted(np.cumsum(mass[possible]), generator.random() * total, side="right")
        drawn = int(possible[min(int(place), len(possible) - 1)])
        chosen.append(drawn)
        left[drawn] = 0
        nearest = np.minimum(nearest, ((points - points[drawn]) ** 2).sum(axis=1))
    return np.array(chosen, np.int64)


def _nearest(points: FloatArray, known: FloatArray) -> FloatArray:
    """(m,) squared distance to the nearest known point; 1 for all if there is none."""
    if not len(known):
        return np.ones(len(points))
    squares = (points**2).sum(axis=1)[:, np.newaxis] + (known**2).sum(axis=1) - 2 * points @ known.T
    return np.asarray(np.maximum(squares, 0).min(axis=1), np.float64)
