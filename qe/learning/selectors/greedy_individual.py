"""The features that do best alone."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from features.basics.array_types import BoolArray
from features.basics.hints import Count
from qe.config.distributions import Distribution, IntRange
from qe.config.ranges import Folds, Inner
from qe.learning.selector import Selector
from qe.learning.selectors._checks import training_data
from qe.learning.selectors._held_out import Judge, splits
from qe.learning.selectors._hints import LearnerConfig, MetricName
from qe.learning.selectors._paths import forward_path


class GreedyIndividual(Selector):
    """Ranks features by the metric of a model on that feature alone; keeps the first `n_features`.

    n_features   None: the number whose joint model does best on the held-out rows
    metric       a metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics)
    folds        contiguous blocks of 31 rows are dealt to so many folds; held-out predictions are pooled
    validation   a share of the rows, the last, that is held out instead of folds; None: folds
    learner      `{kind: NAME, ...}`, refitted; None: least squares

    After fit: `individual_` (k,) the metric of each feature alone, higher is better.

    Source: WMT12 PRHLT-UPV, Section 3.2 (GS).
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_features": IntRange(5, 250, log=True)}

    def __init__(
        self,
        n_features: Count | None = None,
        metric: MetricName = "mae",
        folds: Folds = 10,
        learner: LearnerConfig | None = None,
        label_sign: float = 1.0,
        validation: Inner | None = None,
    ) -> None:
        self.n_features = n_features
        self.metric = metric
        self.folds = folds
        self.learner = learner
        self.label_sign = label_sign
        self.validation = validation

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        parts = splits(len(y), self.folds, False, self.validation)
        judge = Judge.of(self.metric, y, parts, self.label_sign)
        path = forward_path(X, y, parts, self.learner)
        self.individual_ = judge.scores(path.candidates())
        ranked = np.argsort(-self.individual_, kind="stable")
        size = self.n_features
        if size is None:
            joint = []
            for feature in ranked:
                path.change(int(feature))
                joint.append(judge.score(path.predictions))
            size = 1 + int(np.argmax(joint))
        self.support_ = np.isin(np.arange(X.shape[1]), ranked[:size])
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
