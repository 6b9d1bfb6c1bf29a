"""Large errors: the percentage of segments predicted at least one label unit off (WMT12 scorer)."""

import numpy as np

from qe.metrics._base import AdditiveMetric, FloatArray, finite_pair

_LARGE = 1.0
_DECIMAL = 1e-9  # 4.1 - 3.1 is a large error although it is 0.9999999999999996 in binary


class LargeError(AdditiveMetric):
    """100 x the share of segments with |predicted - gold| >= 1.0; NaN without segments.

    Source: evaluateWMTQP2012.pl ("LargeErrPerc"), without its two-decimal rounding of errors.

    >>> LargeError().score(np.array([3.1, 2.0]), np.array([4.1, 2.5]))
    50.0
    """

    higher_is_better = False

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): 1 where the error is large, 1."""
        gold, predicted = finite_pair(gold, predicted)
        large = np.abs(predicted - gold) >= _LARGE - _DECIMAL
        return np.stack([large.astype(np.float64), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])
