"""Polynomial regression."""

from collections.abc import Mapping
from math import comb
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative
from qe.config.distributions import (
    Choice,
    Distribution,
    FloatRange,
    IntRange,
)
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data

_MOST_COLUMNS = 20_000  # 300 MB for 1,832 segments


class PolynomialRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on all products of up to `degree` features, each product standardised.

    degree             highest power
    alpha              ridge penalty; the default is small
    interaction_only   leaves out powers of one feature

    Raises InputError if that makes more than 20,000 columns.
    """

    def __init__(self, degree: Count = 2, alpha: NotNegative = 100.0, interaction_only: bool = False) -> None:
        self.degree = degree
        self.alpha = alpha
        self.interaction_only = interaction_only

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
        self.pipeline_ = make_pipeline(products, StandardScaler(), Ridge(self.alpha))
        self.pipeline_.fit(X, y, ridge__sample_weight=weights)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        rows = rows_to_predict(self, X)
        return np.asarray(self.pipeline_.predict(rows))


class Polynomial(Learner):
    """Regression on powers and products of the features; see PolynomialRegressor.

    Parameters: `degree`, `alpha`, `interaction_only`. Deterministic. Source: WMT12 LIMSI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "degree": IntRange(2, 3),
        "alpha": FloatRange(1.0, 1e5, log=True),
        "interaction_only": Choice([False, True]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = (
        "qe.learning.learners.polynomial.PolynomialRegressor",
        "sklearn.linear_model._ridge.Ridge",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._polynomial.PolynomialFeatures",
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return PolynomialRegressor(**params)
