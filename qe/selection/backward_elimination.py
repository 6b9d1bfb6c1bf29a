"""Greedy backward elimination on held-out error."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution

from qe.selection._base import Selector
from qe.selection._checks import BoolArray, training_data
from qe.selection._held_out import Judge, splits
from qe.selection._paths import backward_path
from qe.selection.correlation import uncorrelated


class BackwardElimination(Selector):
    """Drops the feature whose absence improves the metric most, as long as that improves it.

    threshold    first, of two features with |r| above it, the later one goes
    metric       a metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics)
    folds        contiguous blocks of 31 rows are dealt to so many folds
    one_split    only the first fold is held out, as in the paper; False: every fold in turn, pooled
    learner      `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated

    After fit: `path_`, the features dropped, in order; `score_`, the metric reached (higher is better).

    Source: WMT12 Loria, Algorithm 1.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {"threshold": FloatDistribution(0.8, 0.999)}

    def __init__(
        self,
        threshold: float = 0.999,
        metric: str = "mae",
        folds: int = 5,
        one_split: bool = True,
        learner: Mapping[str, Any] | None = None,
        label_sign: float = 1.0,
    ) -> None:
        self.threshold = threshold
        self.metric = metric
        self.folds = folds
        self.one_split = one_split
        self.learner = learner
        self.label_sign = label_sign

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.support_ = uncorrelated(X, self.threshold)
        columns = np.flatnonzero(self.support_)
        parts = splits(len(y), self.folds, self.one_split)
        judge = Judge.of(self.metric, y, parts, self.label_sign)
        path, dropped = backward_path(X[:, columns], y, parts, self.learner), []
        self.score_ = judge.score(path.predictions)
        left = np.ones(len(columns), np.bool_)
        while left.sum() > 1:
            scores = np.where(left, judge.scores(path.candidates()), -np.inf)
            if not scores.max() > self.score_:
                break
            out = int(scores.argmax())
            self.score_, left[out] = float(scores[out]), False
            path.change(out)
            dropped.append(columns[out])
        self.path_ = np.asarray(dropped, np.int64)
        self.support_[self.path_] = False
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
