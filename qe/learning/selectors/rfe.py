"""Recursive feature elimination."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import sklearn.feature_selection

from features.basics.array_types import BoolArray, FloatArray
from features.basics.hints import Count, NotNegative, Positive
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.elimination import drop_attribute
from qe.learning.learner import LEARNERS
from qe.learning.selector import Selector
from qe.learning.selectors._checks import training_data
from qe.learning.selectors._hints import LearnerConfig


class RecursiveElimination(Selector):
    """Fits, drops the feature of the smallest weight, fits again, until `n_features` are left.

    alpha     ridge penalty, in segments on standardised features
    learner   `{kind: NAME, ...}` with `coef_` or `feature_importances_`, refitted; None: ridge, updated
    step      share of the features that go at a time where a learner is refitted

    After fit: `ranking_` (k,), 1 for those kept, higher for those dropped earlier. Source: Guyon et al. 2002.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_features": IntRange(5, 200, log=True),
        "alpha": FloatRange(1.0, 1e4, log=True),
    }

    def __init__(
        self,
        n_features: Count = 20,
        alpha: NotNegative = 100.0,
        learner: LearnerConfig | None = None,
        step: Positive = 0.05,
    ) -> None:
        self.n_features = n_features
        self.alpha = alpha
        self.learner = learner
        self.step = step

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        size = min(self.n_features, X.shape[1])
        if self.learner is None:
            self.ranking_ = _ridge_ranking(X - X.mean(axis=0), y - y.mean(), self.alpha, size)
            return self
        params = {name: value for name, value in self.learner.items() if name != "kind"}
        estimator = LEARNERS.get(self.learner["kind"])().estimator(**params)
        eliminated = sklearn.feature_selection.RFE(estimator, n_features_to_select=size, step=self.step).fit(
            X, y
        )
        self.ranking_ = np.asarray(eliminated.ranking_)
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.ranking_ == 1)


def _ridge_ranking(X: FloatArray, y: FloatArray, alpha: float, size: int) -> Any:
    inverse = np.linalg.inv(X.T @ X + max(alpha, 1e-8) * np.eye(X.shape[1]))
    beta, kept = inverse @ (X.T @ y), np.ones(X.shape[1], np.bool_)
    ranking = np.ones(X.shape[1], np.int64)
    while kept.sum() > size:
        out = int(np.where(kept, np.abs(beta), np.inf).argmin())
        drop_attribute(inverse, beta, kept, out)
        ranking[out] = kept.sum() - size + 2
    return ranking
