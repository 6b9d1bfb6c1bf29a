"""Two classes: labels 0 and 1, oriented so that the worse class is the lower number."""

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe.statistics.metric import AdditiveMetric, finite_pair

_MIDDLE = 0.5


def worse(gold: FloatArray, predicted: FloatArray) -> tuple[BoolArray, BoolArray]:
    """(n,) whether a segment is of the worse class, and whether it is predicted to be.

    Labels are 0 and 1 where 1 is good, and 0 and -1 (1 turned round) where it is bad: the classes are parted
    in the middle.
    """
    gold, predicted = finite_pair(gold, predicted)
    turned = bool(len(gold)) and gold.max() <= 0 and (gold.min() < 0 or predicted.mean() < 0)
    middle = -_MIDDLE if turned else _MIDDLE
    return gold < middle, predicted < middle


class CountedClasses(AdditiveMetric):
    """A metric of the four counts of two classes; the worse one is what is looked for."""

    kind = "classes"

    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, 4): found, false alarm, missed, rightly passed."""
        bad, called = worse(gold, predicted)
        return np.stack([bad & called, ~bad & called, bad & ~called, ~bad & ~called], axis=1).astype(
            np.float64
        )
