"""Sizes of errors, and shares of segments by the size of their error or by their class."""

from abc import abstractmethod
from typing import Final

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe.statistics.metric import METRICS, AdditiveMetric, finite_pair

_ADEQUATE: Final = 3.5  # between the whole labels 1, 2, 3 (inadequate) and 4, 5 (adequate)
_LARGE, _SMALL = 1.0, 0.1
_DECIMAL = 1e-9  # 3.1 - 3.0 is a small error although it is 0.10000000000000009 in binary


class MeanOfSegments(AdditiveMetric):
    """The mean of one value per segment; NaN without segments."""

    kind = "scoring"

    @abstractmethod
    def values(self, gold: FloatArray, predicted: FloatArray) -> FloatArray | BoolArray:
        """(n,) what is averaged."""

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        gold, predicted = finite_pair(gold, predicted)
        return np.stack([self.values(gold, predicted), np.ones_like(gold)], axis=1).astype(np.float64)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1])


class ShareOfSegments(MeanOfSegments):
    """100 x the share of segments that count; NaN without segments."""

    digits = 1
    interval_scale = "arcsine"

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(100.0 * sums[..., 0] / sums[..., 1])


@METRICS.register("mae")
class Mae(MeanOfSegments):
    """Mean absolute error, in label units; NaN without segments.

    Source: Callison-Burch et al. 2012, equation 16 (without the two-decimal rounding of the 2012 scorer).

    >>> Mae().score(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    1.25
    """

    title = "MAE"
    help = "mean absolute error in label units"
    higher_is_better = False
    interval_scale = "log"

    def values(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        return np.abs(predicted - gold)


@METRICS.register("rmse")
class Rmse(MeanOfSegments):
    """Square root of the mean squared error, in label units; NaN without segments.

    Source: Callison-Burch et al. 2012, equation 17 (without the two-decimal rounding of the 2012 scorer).

    >>> Rmse().score(np.array([1.0, 2.0]), np.array([1.0, 4.0])) ** 2
    2.0000000000000004
    """

    title = "RMSE"
    help = "root of the mean squared error in label units"
    higher_is_better = False
    interval_scale = "log"

    def values(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        return np.asarray((predicted - gold) ** 2)

    def aggregate(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(np.maximum(sums[..., 0], 0.0) / sums[..., 1]))


@METRICS.register("large_error")
class LargeError(ShareOfSegments):
    """100 x the share of segments with |predicted - gold| >= 1.0; NaN without segments.

    Source: evaluateWMTQP2012.pl ("LargeErrPerc"), without its two-decimal rounding of errors.

    >>> LargeError().score(np.array([3.1, 2.0]), np.array([4.1, 2.5]))
    50.0
    """

    title = "Large %"
    help = "percent of segments predicted a label unit off, or more"
    json_key = "large_error_percent"
    higher_is_better = False

    def values(self, gold: FloatArray, predicted: FloatArray) -> BoolArray:
        return np.asarray(np.abs(predicted - gold) >= _LARGE - _DECIMAL)


@METRICS.register("small_error")
class SmallError(ShareOfSegments):
    """100 x the share of segments with |predicted - gold| <= 0.1; NaN without segments.

    Source: evaluateWMTQP2012.pl ("SmallErrPerc"), without its two-decimal rounding of errors.

    >>> SmallError().score(np.array([3.0, 2.0]), np.array([3.1, 2.5]))
    50.0
    """

    title = "Small %"
    help = "percent of segments predicted at most a tenth of a label unit off"
    json_key = "small_error_percent"
    higher_is_better = True

    def values(self, gold: FloatArray, predicted: FloatArray) -> BoolArray:
        return np.asarray(np.abs(predicted - gold) <= _SMALL + _DECIMAL)


@METRICS.register("accuracy")
class Accuracy(ShareOfSegments):
    """100 x the share of segments whose label and prediction are the same whole number.

    NaN without segments. Both are rounded, halves away from zero (2.5 to 3): labels may be means of several
    annotators' whole ones. Source: Mehdad et al. 2012 (adequacy, WMT12), section 4.3.

    >>> Accuracy().score(np.array([2.5, 2.0, 4.0]), np.array([3.0, 2.4, 3.4]))
    66.66666666666667
    """

    title = "Accuracy %"
    help = "percent of segments whose whole label is predicted"
    higher_is_better = True

    def values(self, gold: FloatArray, predicted: FloatArray) -> BoolArray:
        whole = [np.copysign(np.floor(np.abs(side) + 0.5), side) for side in (gold, predicted)]
        return np.asarray(whole[0] == whole[1])


@METRICS.register("binary_accuracy")
class BinaryAccuracy(ShareOfSegments):
    """100 x the share of segments with label and prediction on the same side of 3.5, which is the upper one.

    NaN without segments. Source: Mehdad et al. 2012 (adequacy, WMT12), section 4.4: {1, 2, 3} against {4, 5}
    of five whole labels.

    >>> BinaryAccuracy().score(np.array([3.5, 2.0, 4.0]), np.array([5.0, 3.4, 3.4]))
    66.66666666666667
    """

    title = "Binary accuracy %"
    help = "percent of segments rightly told to be adequate (3.5 and more), or not"
    higher_is_better = True

    def values(self, gold: FloatArray, predicted: FloatArray) -> BoolArray:
        return np.asarray((gold >= _ADEQUATE) == (predicted >= _ADEQUATE))
