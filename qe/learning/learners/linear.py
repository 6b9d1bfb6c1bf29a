"""Linear regression, regression on products of features, and the training mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Folds, NotNegative, Positive, Seed
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS, Learner, Regressor
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data


@LEARNERS.register("ridge")
class Ridge(Learner):
    """Minimises |y - Xw - b|^2 + alpha |w|^2 on standardised features; `alpha` is in units of segments.

    Deterministic: only the stochastic solvers use `seed`. Source: Hoerl and Kennard 1970.
    """

    regressor = linear_model.Ridge
    space: ClassVar[Mapping[str, Distribution]] = {"alpha": FloatRange(1e-2, 1e4, log=True)}


@LEARNERS.register("lasso")
class Lasso(Learner):
    """Minimises |y - Xw - b|^2 / 2n + alpha |w|_1, so that many coefficients are exactly 0.

    Parameters: `alpha` and the others of scikit-learn's Lasso. Source: Tibshirani 1996; WMT12 DFKI.
    """

    regressor = linear_model.Lasso
    defaults: ClassVar[Mapping[str, Any]] = {"alpha": 0.01, "max_iter": 20_000}
    space: ClassVar[Mapping[str, Distribution]] = {"alpha": FloatRange(1e-4, 0.3, log=True)}


@LEARNERS.register("elastic_net")
class ElasticNet(Learner):
    """Minimises |y - Xw - b|^2 / 2n + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2).

    Parameters: `alpha`, `l1_ratio` and the others of scikit-learn's ElasticNet. Source: Zou and Hastie 2005.
    """

    regressor = linear_model.ElasticNet
    defaults: ClassVar[Mapping[str, Any]] = {"alpha": 0.05, "l1_ratio": 0.3, "max_iter": 20_000}
    space: ClassVar[Mapping[str, Distribution]] = {
        "alpha": FloatRange(1e-3, 1.0, log=True),
        "l1_ratio": FloatRange(0.05, 1.0),
    }


_MOST_COLUMNS = 20_000  # 300 MB for 1,832 segments


@LEARNERS.register("polynomial")
@dataclass(eq=False, repr=False)
class PolynomialRegressor(Regressor):
    """Ridge regression on all products (20,000 at most) of up to `degree` features, each standardised.

    Parameters
    ----------
    alpha : float, default=100.0
        Ridge penalty; the default is small.
    interaction_only : bool, default=False
        Leaves out powers of one feature.

    Source: WMT12 LIMSI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "degree": IntRange(2, 3),
        "alpha": FloatRange(1.0, 1e5, log=True),
        "interaction_only": Choice([False, True]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = (
        "sklearn.linear_model._ridge.Ridge",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._polynomial.PolynomialFeatures",
    )

    degree: Count = 2
    alpha: NotNegative = 100.0
    interaction_only: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        columns = comb(X.shape[1] + self.degree, self.degree)
        if columns > _MOST_COLUMNS:
            raise InputError(
                f"degree {self.degree} of {X.shape[1]} features makes {columns} columns",
                remedy=f"at most {_MOST_COLUMNS} fit; select features or use svr_poly",
            )
        products = PolynomialFeatures(self.degree, interaction_only=self.interaction_only, include_bias=False)
        self.pipeline_ = make_pipeline(products, StandardScaler(), linear_model.Ridge(self.alpha))
        self.pipeline_.fit(X, y, ridge__sample_weight=weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        rows = rows_to_predict(self, X)
        return np.asarray(self.pipeline_.predict(rows))


_TINY = 1e-9


@LEARNERS.register("logistic")
@dataclass(eq=False, repr=False)
class LogisticRegressor(Regressor):
    """Logistic curve between the ends of the training labels: low + (high - low) / (1 + exp(-(Xw + b))).

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the quadratic penalty on w, in units of segments.
    folds : int, default=5
        Cross-fitting folds for the threshold.

    For labels with two classes, predictions are shifted so that their midpoint is the best threshold between
    the classes (Matthews correlation of cross-fitted training predictions), so that rare classes are
    predicted too. Other labels count as a weighted mix of both ends (fractional logit). After fit: `coef_`
    (k,), `intercept_`, `ends_`, `threshold_` (probability of the higher class).

    Source: Papke and Wooldridge 1996 (fractional logit); Matthews 1975.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"C": FloatRange(1e-3, 1e2, log=True)}

    C: Positive = 1.0
    folds: Folds = 5
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        low, high = float(y.min()), float(y.max())
        share = np.zeros(len(y)) if high == low else (y - low) / (high - low)
        self.ends_ = low, high
        self.coef_, self.intercept_ = self._fitted(X, share, weights)
        self.threshold_ = 0.5
        if len(np.unique(share)) == 2:
            self.threshold_ = self._threshold(X, share == 1.0, weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        probability = _logistic(rows_to_predict(self, X) @ self.coef_ + self.intercept_)
        below = 0.5 * probability / self.threshold_
        above = 0.5 + 0.5 * (probability - self.threshold_) / (1.0 - self.threshold_)
        shifted = np.where(probability < self.threshold_, below, above)
        low, high = self.ends_
        return np.asarray(low + (high - low) * shifted)

    def _fitted(self, X: FloatArray, share: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
        rows, upper = np.concatenate([X, X]), np.repeat([1, 0], len(X))
        both = np.concatenate([weights * share, weights * (1.0 - share)])
        kept = both > 0
        if len(np.unique(upper[kept])) < 2:  # all labels are equal
            return np.zeros(X.shape[1]), 0.0
        model = LogisticRegression(C=self.C, max_iter=1000)
        model.fit(rows[kept], upper[kept], sample_weight=both[kept])
        return np.ascontiguousarray(model.coef_[0]), float(model.intercept_[0])

    def _threshold(self, X: FloatArray, upper: BoolArray, weights: FloatArray) -> float:
        folds = min(self.folds, int(upper.sum()), int((~upper).sum()))
        if folds < 2:
            return float(np.average(upper, weights=weights))
        probabilities = np.empty(len(X))
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=self.seed).split(X, upper):
            coefficients, intercept = self._fitted(X[train], upper[train].astype(np.float64), weights[train])
            probabilities[test] = _logistic(X[test] @ coefficients + intercept)
        return best_threshold(upper, probabilities, weights)


def best_threshold(upper: BoolArray, probabilities: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(-probabilities, kind="stable")
    sorted_, weight = probabilities[order], weights[order]
    hits, alarms = np.cumsum(weight * upper[order]), np.cumsum(weight * ~upper[order])
    positives, negatives = hits[-1], alarms[-1]
    flagged = hits + alarms
    product = flagged * (positives + negatives - flagged) * positives * negatives
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (hits * negatives - alarms * positives) / np.sqrt(np.maximum(product, 0.0))
    ends = np.flatnonzero(sorted_[:-1] > sorted_[1:])  # equal probabilities cannot be separated
    if not len(ends):
        return 0.5
    best = ends[np.nanargmax(correlation[ends])]
    return float(np.clip((sorted_[best] + sorted_[best + 1]) / 2.0, _TINY, 1.0 - _TINY))


def _logistic(values: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))


@LEARNERS.register("mean")
class Mean(Learner):
    """Predicts a constant, the baseline for other learners.

    Parameters: `strategy` (`mean`, `median`, `quantile`, `constant`) and the others of scikit-learn's
    DummyRegressor. Source: WMT12 DCU-SYMC report the training mean next to their systems.
    """

    regressor = DummyRegressor
