"""Small errors: the percentage of segments predicted at most a tenth of a label unit off (WMT12 scorer)."""

import numpy as np

from qe.metrics._base import AdditiveMetric, FloatArray, finite_pair

_SMALL = 0.1
_DECIMAL = 1e-9  # 3.1 - 3.0 is a small error although it is 0.10000000000000009 in binary


class SmallError(AdditiveMetric):
    """100 x the share of segments with |predicted - gold| <= 0.1; NaN without segments.

    Source: evaluateWMTQP2012.pl ("SmallErrPerc"), without its two-decimal rounding of errors.

    >>> SmallError().score(np.array([3.0, 2.0]), np.array([3.1, 2.5]))
    50.0
    """

    higher_is_better = True

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): 1 where the error is small, 1."""
        gold, predicted = finite_pair(gold, predicted)
        small = np.abs(predicted - gold) <= _SMALL + _DECIMAL
        return np.stack([small.astype(np.float64), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])
