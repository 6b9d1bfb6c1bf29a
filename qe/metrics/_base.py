"""Metric: gold labels and predictions -> a number. Think twice before adding here."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.core.catalogue import Catalogue

FloatArray = NDArray[np.float64]


class Metric(ABC):
    """Compares (n,) gold labels with (n,) predictions, both oriented so that higher is better quality.

    The caller orients (LabelScale.sign); a metric never takes `abs()` of a correlation, and a ranking
    metric ranks by predicted quality, best first.
    """

    higher_is_better: ClassVar[bool]

    @abstractmethod
    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        """The metric; NaN where it is undefined (its docstring says when)."""


class AdditiveMetric(Metric):
    """A metric that is a function of sums over segments: significance tests resample the statistics."""

    @abstractmethod
    def statistics(self, gold: FloatArray, predicted: FloatArray) -> FloatArray:
        """(n, k) sufficient statistics per segment."""

    @abstractmethod
    def aggregate(self, sums: FloatArray) -> FloatArray:
        """(..., k) sums of statistics -> (...) scores."""

    def score(self, gold: FloatArray, predicted: FloatArray) -> float:
        return float(self.aggregate(self.statistics(gold, predicted).sum(axis=0)))


class RankedMetric(Metric):
    """A metric of the whole ranking: significance tests recompute it for every resample, exactly."""

    @abstractmethod
    def resample(self, gold: FloatArray, predicted: FloatArray, counts: NDArray[np.int32]) -> FloatArray:
        """(B,) scores of B resamples; `counts` (B, n) says how often each row was drawn.

        Counts cover the bootstrap (by segment, or by document: totals may differ) and, over the stacked
        rows of two systems, the exchanges of a randomization test.
        """


def finite_pair(gold: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both as (n,) float64.

    Raises ValueError for different lengths and for values that are not finite.
    """
    left, right = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"gold and predicted must be (n,) and alike, but got {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("gold and predicted must be finite")
    return left, right


METRICS: Catalogue[Metric] = Catalogue("qe.metrics", Metric, "metric")
