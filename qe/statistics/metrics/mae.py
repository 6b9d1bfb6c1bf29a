"""MAE: mean absolute error (WMT12, equation 16)."""

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair


class Mae(AdditiveMetric):
    """Mean of |predicted - gold|, in label units; NaN without segments.

    Source: Callison-Burch et al. 2012, equation 16 (without the two-decimal rounding of the 2012 scorer).

    >>> Mae().score(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    1.25
    """

    title = "MAE"
    help = "mean absolute error in label units"
    kind = "scoring"
    higher_is_better = False
    interval_scale = "log"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): |error|, 1."""
        gold, predicted = finite_pair(gold, predicted)
        return np.stack([np.abs(predicted - gold), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1])
