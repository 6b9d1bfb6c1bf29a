"""RMSE: root of the mean squared error (WMT12, equation 17)."""

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair


class Rmse(AdditiveMetric):
    """Square root of the mean of (predicted - gold)^2, in label units; NaN without segments.

    Source: Callison-Burch et al. 2012, equation 17 (without the two-decimal rounding of the 2012 scorer).

    >>> Rmse().score(np.array([1.0, 2.0]), np.array([1.0, 4.0])) ** 2
    2.0000000000000004
    """

    title = "RMSE"
    help = "root of the mean squared error in label units"
    kind = "scoring"
    higher_is_better = False
    interval_scale = "log"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): squared error, 1."""
        gold, predicted = finite_pair(gold, predicted)
        return np.stack([(predicted - gold) ** 2, np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(np.maximum(sums[..., 0], 0.0) / sums[..., 1]))
