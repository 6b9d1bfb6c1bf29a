"""Held-out rows and the metric on them: what wrapper selectors optimise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qe.metrics._base import METRICS, Metric

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK = 31  # rows; neighbouring segments share a document


def splits(n: int, folds: int, one_split: bool) -> list[tuple[IntArray, IntArray]]:
    """(train, held out) rows: contiguous blocks of up to 31 dealt to `folds` folds; only the first if asked.

    >>> [held.tolist() for _, held in splits(7, 3, one_split=False)]
    [[0, 1, 6], [2, 3], [4, 5]]
    """
    block = max(1, min(_BLOCK, n // folds))
    fold = np.arange(n) // block % folds
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(1 if one_split else folds)]
    return [(train, held) for train, held in parts if len(train) and len(held)]


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores predictions for the held-out rows of all splits, pooled in split order; higher is better."""

    metric: Metric
    gold: FloatArray
    label_sign: float

    @classmethod
    def of(
        cls, metric: str, y: FloatArray, parts: list[tuple[IntArray, IntArray]], label_sign: float
    ) -> "Judge":
        held = np.concatenate([held for _, held in parts]) if parts else np.arange(0)
        return cls(METRICS.get(metric)(), label_sign * y[held], label_sign)

    def scores(self, predictions: FloatArray) -> FloatArray:
        """(c,) of (n, c) candidate predictions; -inf where the metric is undefined."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        values = np.array([sign * self.metric.score(self.gold, self.label_sign * p) for p in predictions.T])
        return np.where(np.isnan(values), -np.inf, values)

    def score(self, predictions: FloatArray) -> float:
        """Of (n,) predictions."""
        return float(self.scores(predictions[:, None])[0])
