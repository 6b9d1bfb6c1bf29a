"""Greedy backward elimination on held-out error."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray
from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Folds, Inner, Part
from qe.learning.selectors.checks import training_data
from qe.learning.selectors.correlation import uncorrelated
from qe.learning.selectors.held_out import HeldOutSelector, Judge
from qe.learning.selectors.hints import LearnerConfig, MetricName
from qe.learning.selectors.paths import backward_path


class BackwardElimination(HeldOutSelector):
    """Drops the feature whose absence improves the metric most, as long as that improves it.

    After fit: `path_`, the features dropped, in order; `score_`, the metric reached (higher is better).

    Source: WMT12 Loria, Algorithm 1.

    Parameters
    ----------
    threshold : float, default=0.999
        First, of two features with |r| above it, the later one goes.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics).
    folds : int, default=5
        Contiguous blocks of 31 rows are dealt to so many folds.
    one_split : bool, default=True
        Only the first fold is held out, as in the paper; False: every fold in turn, pooled.
    validation : float or None, default=None
        A share of the rows, the last, that is held out instead of folds (the paper: 832 of 1,832).
    learner : mapping or None, default=None
        `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"threshold": FloatRange(0.8, 0.999)}

    def __init__(
        self,
        threshold: Part = 0.999,
        metric: MetricName = "mae",
        folds: Folds = 5,
        one_split: bool = True,
        learner: LearnerConfig | None = None,
        label_sign: float = 1.0,
        validation: Inner | None = None,
    ) -> None:
        self.threshold = threshold
        super().__init__(metric, folds, one_split, learner, label_sign, validation)

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.support_ = uncorrelated(X, self.threshold)
        columns = np.flatnonzero(self.support_)
        parts = self._splits(len(y))
        judge = Judge.of(self.metric, y, parts, self.label_sign)
        path, dropped = backward_path(X[:, columns], y, parts, self.learner), []
        self.score_ = judge.score(path.predictions)
        left = np.ones(len(columns), np.bool_)
        while left.sum() > 1:
            scores = np.where(left, judge.scores(path.candidates(left)), -np.inf)
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
