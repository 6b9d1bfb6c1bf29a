"""F1: of the worse of two classes."""

import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.metrics._classes import CountedClasses


class F1(CountedClasses):
    """Harmonic mean of precision and recall of the worse class (BAD, ERR), 0 .. 1.

    NaN if no label is of that class.

    Labels are 0 and 1; predictions are of the class that they are nearer to (from .5 on, the upper one).

    Source: van Rijsbergen 1979.

    >>> F1().score(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.4, 0.1, 0.2]))
    0.8
    """

    title = "F1"
    help = "F1 of the worse of two classes"
    higher_is_better = True

    def aggregate(self, sums: FloatArray) -> FloatArray:
        found, alarms, missed, _ = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(found + missed > 0, 2.0 * found / (2.0 * found + alarms + missed), np.nan)
