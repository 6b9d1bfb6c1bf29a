"""Pearson's correlation of system scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from features.basics.array_types import FloatArray
from qe_human.correlations._systems import SystemCorrelation


def weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """(...) weighted Pearson's r of (..., k) and (k,) values. NaN if one side is constant."""
    constant = (np.ptp(x, axis=-1) == 0) | (np.ptp(y) == 0)
    shares = weights / weights.sum()
    x, y = x - (x @ shares)[..., None], y - y @ shares
    squares = (x * x @ weights) * (y * y @ weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(constant | (squares == 0), np.nan, x * y @ weights / np.sqrt(squares)))


@dataclass(frozen=True)
class SystemPearson(SystemCorrelation):
    """Pearson's r of the scores of systems."""

    title: ClassVar[str] = "Pearson of systems"
    pearson: ClassVar[bool] = True

    def correlate(self, metric: FloatArray, human: FloatArray, weights: FloatArray) -> FloatArray:
        return weighted_pearson(metric, human, weights)
