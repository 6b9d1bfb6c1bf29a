"""Binary accuracy: adequate or not, told correctly, on a scale of 1 to 5."""

from typing import Final

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair

# Between the whole labels 1, 2, 3 (inadequate) and 4, 5 (adequate).
_ADEQUATE: Final = 3.5


class BinaryAccuracy(AdditiveMetric):
    """100 x the share of segments with label and prediction on the same side of 3.5.

    A value of 3.5 is on the upper side. NaN without segments.

    Source: Mehdad et al. 2012 (adequacy, WMT12), section 4.4: {1, 2, 3} against {4, 5} of five whole labels.

    >>> BinaryAccuracy().score(np.array([3.5, 2.0, 4.0]), np.array([5.0, 3.4, 3.4]))
    66.66666666666667
    """

    title = "Binary accuracy %"
    help = "percent of segments rightly told to be adequate (3.5 and more), or not"
    kind = "scoring"
    digits = 1
    higher_is_better = True
    interval_scale = "arcsine"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): 1 where the classes are the same, 1."""
        gold, predicted = finite_pair(gold, predicted)
        same = (gold >= _ADEQUATE) == (predicted >= _ADEQUATE)
        return np.stack([same.astype(np.float64), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])
