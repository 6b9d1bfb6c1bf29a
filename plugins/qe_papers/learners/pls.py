"""Partial least squares regression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.hints import Count
from qe.config.distributions import Distribution, IntRange
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe_papers.learner import OwnLearner


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


class Pls(OwnLearner):
    """Regression on a few directions that covary with the label; see PlsRegressor.

    Parameter: `n_components`. Deterministic. Source: Wold et al. 2001; WMT12 DFKI (cfs-plsreg).
    """

    regressor = PlsRegressor
    space: ClassVar[Mapping[str, Distribution]] = {"n_components": IntRange(1, 20, log=True)}
