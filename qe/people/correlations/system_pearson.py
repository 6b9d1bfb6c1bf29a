"""Pearson's correlation of system scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from qe.people.correlations._systems import SystemCorrelation


def weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Pearson's r of (k,) values that count with weights; NaN if a side is constant."""
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    xx, yy = weights @ (x * x), weights @ (y * y)
    if np.ptp(x) == 0 or np.ptp(y) == 0 or xx * yy == 0:
        return float("nan")
    return float(weights @ (x * y) / np.sqrt(xx * yy))


@dataclass(frozen=True)
class SystemPearson(SystemCorrelation):
    """Pearson's r of the scores of systems."""

    pearson: ClassVar[bool] = True

    def of(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> float:
        return weighted_pearson(metric, human, weights)
