"""Held-out rows and the metric on them: what wrapper selectors optimise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray, IntArray
from qe.learning.selector import Selector
from qe.statistics.metric import METRICS, Metric

_BLOCK = 31  # rows; neighbouring segments share a document


def splits(
    n: int, folds: int, one_split: bool, validation: float | None = None
) -> list[tuple[IntArray, IntArray]]:
    """(train, held out) rows.

    Contiguous blocks of up to 31 rows are dealt to `folds` folds; on request only the first fold is made.

    validation  a share: the last rows are held out, and there are no folds

    >>> [held.tolist() for _, held in splits(7, 3, one_split=False)]
    [[0, 1, 6], [2, 3], [4, 5]]
    >>> [(train.tolist(), held.tolist()) for train, held in splits(7, 3, one_split=False, validation=0.3)]
    [([0, 1, 2, 3, 4], [5, 6])]
    """
    if validation is not None:
        first = n - max(1, min(n - 1, round(validation * n)))
        return [(np.arange(first), np.arange(first, n))] if first else []
    block = max(1, min(_BLOCK, n // folds))
    fold = np.arange(n) // block % folds
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(1 if one_split else folds)]
    return [(train, held) for train, held in parts if len(train) and len(held)]


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores predictions for held-out rows of all splits, pooled in split order.

    Higher is better.
    """

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
        """Score of (n,) predictions."""
        return float(self.scores(predictions[:, None])[0])


class HeldOutSelector(Selector):
    """What selectors by held-out error share: how a set of features is judged, and by what.

    metric       a metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics)
    folds        contiguous blocks of 31 rows are dealt to so many folds
    one_split    only the first fold is held out; False: every fold in turn, pooled
    validation   a share of the rows, the last, that is held out instead of folds; None: folds
    learner      `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated
    """

    def __init__(
        self,
        metric: str,
        folds: int,
        one_split: bool,
        learner: Mapping[str, Any] | None,
        label_sign: float,
        validation: float | None = None,
    ) -> None:
        self.metric = metric
        self.folds = folds
        self.one_split = one_split
        self.learner = learner
        self.label_sign = label_sign
        self.validation = validation

    def _splits(self, n: int) -> list[tuple[IntArray, IntArray]]:
        return splits(n, self.folds, self.one_split, self.validation)
