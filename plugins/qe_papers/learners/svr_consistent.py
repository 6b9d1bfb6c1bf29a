"""Support vector regression that drops training rows it cannot fit, then trains again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.hints import NotNegative, Positive
from qe.config.distributions import Distribution, FloatRange
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe_papers.learner import OwnLearner

_LEAST = 2  # minimum number of training rows
_AT_BOUND = 1 - 1e-6


@dataclass(repr=False, eq=False)
class ConsistentSVR(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An SVR, retrained without inconsistent rows until none are left.

    A row is inconsistent if its multiplier is at its bound (C, times its weight), that is, if its error
    exceeds epsilon. In the end no training row has such an error. If at most one row would remain, the last
    model with more rows is kept. A small epsilon leaves few rows and gives poor predictions.

    kernel, C, epsilon, gamma  as in scikit-learn's SVR
    After fit: `model_`, `kept_` (n,) mask of the final training rows, `rounds_` of training.

    Source: Joachims 1999, SVM-light's option `-i 1`; WMT12 UPC-2 (findings, section 6.3).
    """

    kernel: Literal["linear", "rbf"] = "linear"
    C: Positive = 1.0
    epsilon: NotNegative = 0.5
    gamma: Positive = 0.02

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        kept, self.rounds_ = np.arange(len(y)), 0
        while True:
            model = SVR(kernel=self.kernel, C=self.C, epsilon=self.epsilon, gamma=self.gamma, cache_size=500)
            self.model_ = model.fit(X[kept], y[kept], sample_weight=weights[kept])
            self.rounds_ += 1
            consistent = self._consistent(len(kept), weights[kept])
            if consistent.all() or consistent.sum() < _LEAST:
                break
            kept = kept[consistent]
        self.kept_ = np.isin(np.arange(len(y)), kept)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.model_.predict(rows), np.float64)

    def _consistent(self, rows: int, weights: FloatArray) -> NDArray[np.bool_]:
        multipliers = np.zeros(rows)
        multipliers[self.model_.support_] = np.abs(self.model_.dual_coef_[0])
        return np.asarray((multipliers < self.C * weights * _AT_BOUND) | (weights == 0), bool)


class SvrConsistent(OwnLearner):
    """SVR without the rows that it cannot fit; see ConsistentSVR. Deterministic."""

    regressor = ConsistentSVR
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-3, 10.0, log=True),
        "epsilon": FloatRange(0.1, 1.0, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)
