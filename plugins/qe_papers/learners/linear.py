"""Linear models: pace regression, partial least squares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.optimize import nnls
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from qe.config.distributions import Choice, Distribution, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data

Improvement = Literal["empirical_bayes", "nested", "subset"]

_WIDTH = 3.0  # half-width of the mixture's fitting intervals around every effect (Weka's)
_SMALLEST = 1e-9  # minimum share of a column's length outside the span of earlier columns


@dataclass(repr=False, eq=False)
class PaceRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression by effects (pace regression).

    Effects are least-squares coefficients in orthogonal directions, divided by the standard deviation of the
    error.

    estimator  how effects are improved, given the mixture that generates them: `empirical_bayes`, their
               expectations; `subset`, those with a positive expected contribution; `nested`, the leading
               ones with the largest sum of contributions

    Columns enter in the order in which they reduce the squared error most. Collinear columns, and those
    beyond half of the number of rows, do not enter. After fit: `coef_`, `intercept_`, `effects_`, `improved_`
    (both in order of entry), `order_`.

    Source: Wang and Witten 2002, "Modeling for optimal probability prediction"; Weka's PaceRegression, whose
    default is `empirical_bayes`; WMT12 TCD, section 4.1.
    """

    estimator: Improvement = "empirical_bayes"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        centre, mean = np.average(X, axis=0, weights=weights), float(np.average(y, weights=weights))
        root = np.sqrt(weights)
        design, target = (X - centre) * root[:, None], (y - mean) * root
        self.order_, directions, triangle = _by_reduction(design, target)
        raw = directions.T @ target
        residuals, freedom = target - directions @ raw, len(target) - len(self.order_) - 1
        deviation = float(np.sqrt(residuals @ residuals / freedom)) if freedom > 0 else 0.0
        self.effects_ = raw / deviation if deviation else raw
        self.improved_ = self._improve(self.effects_) if deviation and len(raw) else self.effects_
        improved = self.improved_ * (deviation or 1.0)
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[self.order_] = np.linalg.solve(triangle, improved)
        self.intercept_ = mean - float(centre @ self.coef_)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(rows_to_predict(self, X) @ self.coef_ + self.intercept_)

    def _improve(self, effects: FloatArray) -> FloatArray:
        expected = expectations(effects, *mixture(effects))
        if self.estimator == "empirical_bayes":
            return expected
        gains = contributions(effects, expected)
        if self.estimator == "subset":
            return np.where(gains > 0, effects, 0.0)
        best = int(np.argmax(np.concatenate(([0.0], np.cumsum(gains)))))
        return np.where(np.arange(len(effects)) < best, effects, 0.0)


def mixture(effects: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and weights of the mixture of unit-variance normals that generates effects."""
    low = np.concatenate([effects - _WIDTH, effects])
    high = np.concatenate([effects, effects + _WIDTH])
    expected = norm.cdf(high[:, None] - effects) - norm.cdf(low[:, None] - effects)
    inside = (effects > low[:, None]) & (effects < high[:, None])
    at_end = (effects == low[:, None]) | (effects == high[:, None])
    weights, _ = nnls(expected, (inside + 0.5 * at_end).mean(axis=1))
    return effects, weights / weights.sum()


def expectations(effects: FloatArray, means: FloatArray, weights: FloatArray) -> FloatArray:
    logs = -0.5 * (effects[:, None] - means) ** 2
    highest = logs.max(axis=1, keepdims=True, where=weights > 0, initial=-np.inf)
    shares = weights * np.exp(np.minimum(logs - highest, 0.0))  # clipped: values above it have weight 0
    return np.asarray(shares @ means / shares.sum(axis=1))


def contributions(effects: FloatArray, expected: FloatArray) -> FloatArray:
    """Accuracy gain from keeping each effect x: E[a^2 - (x - a)^2] = x (2 E[a] - x); `expected` is E[a]."""
    return effects * (2 * expected - effects)


def _by_reduction(X: FloatArray, y: FloatArray) -> tuple[list[int], FloatArray, FloatArray]:
    rest, lengths = X.copy(), np.linalg.norm(X, axis=0)
    order, directions, rows = list[int](), list[FloatArray](), list[FloatArray]()
    while len(order) < min(X.shape[1], len(y) // 2):
        own = np.linalg.norm(rest, axis=0)
        open_ = own > _SMALLEST * np.maximum(lengths, 1e-300)
        open_[order] = False
        if not open_.any():
            break
        gains = np.where(open_, np.abs(rest.T @ y) / np.where(open_, own, 1.0), -1.0)
        best = int(np.argmax(gains))
        direction = rest[:, best] / own[best]
        products = direction @ rest
        rest -= np.outer(direction, products)
        order.append(best)
        directions.append(direction)
        rows.append(direction @ X)
    if not order:
        return [], np.empty((len(y), 0)), np.empty((0, 0))
    return order, np.column_stack(directions), np.triu(np.vstack(rows)[:, order])


class Pace(Learner):
    """Pace regression: least squares with jointly improved effects. See PaceRegressor; deterministic."""

    regressor = PaceRegressor
    space: ClassVar[Mapping[str, Distribution]] = {
        "estimator": Choice(("empirical_bayes", "nested", "subset"))
    }


@dataclass(repr=False, eq=False)
class PlsRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """PLS1: `n_components` orthogonal directions of largest covariance with the label.

    There are fewer components if the features span fewer dimensions, or the label is fitted exactly;
    `n_components_` is their number. After fit: `coef_` (k,), `intercept_`.

    Source: Wold et al. 2001.
    """

    n_components: Count = 4

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        means, centre = np.average(X, axis=0, weights=weights), float(np.average(y, weights=weights))
        roots = np.sqrt(weights)
        self.coef_, self.n_components_ = _pls1(
            (X - means) * roots[:, None], (y - centre) * roots, self.n_components
        )
        self.intercept_ = centre - float(means @ self.coef_)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(rows_to_predict(self, X) @ self.coef_ + self.intercept_)


def _pls1(X: FloatArray, y: FloatArray, components: int) -> tuple[FloatArray, int]:
    left, size = X.copy(), float(np.linalg.norm(X.T @ y))
    directions, loadings, shares = [], [], []
    for _ in range(min(components, *X.shape)):
        covariance = left.T @ y
        norm = float(np.linalg.norm(covariance))
        if norm <= 1e-10 * size or norm == 0:
            break
        score = left @ (covariance / norm)
        power = float(score @ score)
        if power <= 1e-14 * float((X**2).sum()):
            break
        directions.append(covariance / norm)
        loadings.append(left.T @ score / power)
        shares.append(float(score @ y) / power)
        left -= np.outer(score, loadings[-1])
    if not shares:
        return np.zeros(X.shape[1]), 0
    W, P = np.array(directions).T, np.array(loadings).T
    return W @ np.linalg.solve(P.T @ W, np.array(shares)), len(shares)


class Pls(Learner):
    """Partial least squares regression. See PlsRegressor.

    Parameter: `n_components`. Deterministic. Source: Wold et al. 2001; WMT12 DFKI (cfs-plsreg).
    """

    regressor = PlsRegressor
    space: ClassVar[Mapping[str, Distribution]] = {"n_components": IntRange(1, 20, log=True)}
