"""RReliefF: features that differ where labels of near neighbours differ."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numba
import numpy as np

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Positive
from qe.config.distributions import Distribution, IntRange
from qe.learning.selectors._ranking import RankingSelector


class ReliefF(RankingSelector):
    """P(feature differs | labels differ) - P(feature differs | labels are alike) among nearest neighbours.

    n_neighbors   per segment; fewer if there are fewer segments
    sigma         a neighbour of rank r weighs exp(-(r / sigma)^2)
    n_features, threshold as in RankingSelector

    Differences are relative to each feature's range, distances are their sums. O(n^2 k).

    Source: WMT12 DFKI, Section 2.3; Robnik-Sikonja and Kononenko 1997 (regression).
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_features": IntRange(5, 200, log=True)}

    def __init__(
        self,
        n_features: Count | None = None,
        threshold: float | None = 0.0,
        n_neighbors: Count = 10,
        sigma: Positive = 20.0,
    ) -> None:
        self.n_features = n_features
        self.threshold = threshold
        self.n_neighbors = n_neighbors
        self.sigma = sigma

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        ranges, label_range = np.ptp(X, axis=0), float(np.ptp(y))
        if label_range == 0 or len(y) < 2:
            return np.zeros(X.shape[1])
        scaled = np.ascontiguousarray(X / np.where(ranges > 0, ranges, 1.0))
        neighbours = min(self.n_neighbors, len(y) - 1)
        influence = np.exp(-((np.arange(1, neighbours + 1) / self.sigma) ** 2))
        counts = _count(scaled, y / label_range, influence / influence.sum())
        label, feature, both = counts[0, 0], counts[1], counts[2]
        if label == 0 or label == len(y):
            return np.zeros(X.shape[1])
        return np.asarray(both / label - (feature - both) / (len(y) - label))


@numba.njit(cache=True, nogil=True)
def _count(X: Any, y: Any, influence: Any) -> Any:
    """(3, k): weighted differences of the label, of each feature, of both, over segments and neighbours."""
    n, k = X.shape
    counts = np.zeros((3, k))
    distances = np.empty(n)
    for i in range(n):
        for other in range(n):
            total = 0.0
            for j in range(k):
                total += abs(X[i, j] - X[other, j])
            distances[other] = total
        distances[i] = np.inf
        nearest = np.argsort(distances, kind="mergesort")[: len(influence)]
        for rank in range(len(influence)):
            label = abs(y[i] - y[nearest[rank]]) * influence[rank]
            counts[0] += label
            for j in range(k):
                difference = abs(X[i, j] - X[nearest[rank], j])
                counts[1, j] += difference * influence[rank]
                counts[2, j] += difference * label
    return counts
