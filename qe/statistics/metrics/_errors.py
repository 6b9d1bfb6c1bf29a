"""Shares of segments by the size of their error, as the WMT12 scorer counts them."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair


class ErrorShare(AdditiveMetric):
    """100 x the share of segments whose error counts; NaN without segments."""

    @abstractmethod
    def counts(self, errors: FloatArray) -> NDArray[np.bool_]:
        """Whether an absolute error counts."""

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): 1 where the error counts, 1."""
        gold, predicted = finite_pair(gold, predicted)
        counted = self.counts(np.abs(predicted - gold))
        return np.stack([counted.astype(np.float64), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])
