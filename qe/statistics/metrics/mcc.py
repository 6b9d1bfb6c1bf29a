"""MCC: Matthews correlation of two classes."""

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.metrics._classes import CountedClasses


class Mcc(CountedClasses):
    """Matthews correlation of two classes, -1 .. 1.

    0 if only one class is predicted, NaN if only one is labelled.

    Labels are 0 and 1; predictions are of the class that they are nearer to (from .5 on, the upper one).

    Source: Matthews 1975; the metric of critical error detection in WMT 2021.

    >>> Mcc().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.4, 0.1, 0.2]))
    0.5773502691896258
    """

    title = "MCC"
    help = "Matthews correlation of two classes"
    higher_is_better = True
    interval_scale = "fisher"

    def aggregate(self, sums: FloatArray) -> FloatArray:
        found, alarms, missed, passed = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        labels = (found + missed) * (alarms + passed)
        called = (found + alarms) * (missed + passed)
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = (found * passed - alarms * missed) / np.sqrt(labels) / np.sqrt(called)
        return np.where(labels > 0, np.where(called > 0, correlation, 0.0), np.nan)
