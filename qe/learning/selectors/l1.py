"""Features with a coefficient in the lasso."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.linear_model import Lasso

from features.basics.array_types import BoolArray
from features.basics.hints import NotNegative
from qe.config.distributions import Distribution, FloatRange
from qe.learning.selector import Selector
from qe.learning.selectors._checks import correlations, never_empty, training_data


class L1(Selector):
    """Keeps the features whose lasso coefficient is not 0; where none is left, the most correlated one.

    alpha   of the lasso, in label units on standardised features. Source: Tibshirani 1996.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"alpha": FloatRange(1e-3, 0.1, log=True)}

    def __init__(self, alpha: NotNegative = 0.01) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.coefficients_ = np.asarray(Lasso(self.alpha, max_iter=20_000).fit(X, y).coef_)
        self.support_ = never_empty(self.coefficients_ != 0, correlations(X, y))
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
