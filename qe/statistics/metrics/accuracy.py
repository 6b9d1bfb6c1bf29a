"""Accuracy: segments whose class is predicted, where classes are whole labels."""

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair


class Accuracy(AdditiveMetric):
    """100 x the share of segments whose label and prediction are the same whole number.

    NaN without segments.

    Both are rounded, halves away from zero (2.5 to 3): labels may be means of several judges' whole ones.

    Source: Mehdad et al. 2012 (adequacy, WMT12), section 4.3.

    >>> Accuracy().score(np.array([2.5, 2.0, 4.0]), np.array([3.0, 2.4, 3.4]))
    66.66666666666667
    """

    title = "Accuracy %"
    help = "percent of segments whose whole label is predicted"
    kind = "scoring"
    digits = 1
    higher_is_better = True
    interval_scale = "arcsine"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 2): 1 where the classes are the same, 1."""
        gold, predicted = finite_pair(gold, predicted)
        same = _whole(gold) == _whole(predicted)
        return np.stack([same.astype(np.float64), np.ones_like(gold)], axis=1)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])


def _whole(values: FloatArray) -> NDArray[np.float64]:
    return np.asarray(np.copysign(np.floor(np.abs(values) + 0.5), values))
