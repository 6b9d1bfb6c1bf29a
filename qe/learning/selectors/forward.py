"""Sequential forward selection."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.hints import Count
from qe.config.distributions import Distribution, IntRange
from qe.config.ranges import Folds, Inner
from qe.learning.selectors.checks import training_data
from qe.learning.selectors.held_out import HeldOutSelector, Judge
from qe.learning.selectors.hints import LearnerConfig, MetricName
from qe.learning.selectors.paths import forward_path


class ForwardSelection(HeldOutSelector):
    """Adds the feature that improves the metric most, until none does.

    It also stops at `max_features`.

    At least one feature is taken. After fit: `path_`, features in the order taken; `scores_` after each.

    Source: WMT12 WLV-SHEF, Section 4.1.

    Parameters
    ----------
    max_features : int or None, default=None
        None: no limit.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics).
    folds : int, default=5
        Contiguous blocks of 31 rows are dealt to so many folds; held-out predictions are pooled.
    one_split : bool, default=False
        Only the first fold is held out.
    validation : float or None, default=None
        A share of the rows, the last, that is held out instead of folds; None: folds.
    learner : mapping or None, default=None
        `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"max_features": IntRange(3, 60, log=True)}

    def __init__(
        self,
        max_features: Count | None = None,
        metric: MetricName = "mae",
        folds: Folds = 5,
        one_split: bool = False,
        learner: LearnerConfig | None = None,
        label_sign: float = 1.0,
        validation: Inner | None = None,
    ) -> None:
        self.max_features = max_features
        super().__init__(metric, folds, one_split, learner, label_sign, validation)

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        parts = self._splits(len(y))
        judge = Judge.of(self.metric, y, parts, self.label_sign)
        path = forward_path(X, y, parts, self.learner)
        free, taken, reached = np.ones(X.shape[1], np.bool_), list[int](), list[float]()
        most = min(self.max_features or X.shape[1], X.shape[1])
        while len(taken) < most:
            scores = np.where(free, judge.scores(path.candidates(free)), -np.inf)
            best = int(scores.argmax())
            if reached and not scores[best] > reached[-1]:
                break
            free[best] = False
            path.change(best)
            taken.append(best)
            reached.append(float(scores[best]))
        self.path_, self.scores_ = np.asarray(taken, np.int64), np.asarray(reached)
        return self

    def _get_support_mask(self) -> BoolArray:
        support = np.zeros(self.n_features_in_, np.bool_)
        support[self.path_] = True
        return support
