"""Linear regression with an absolute penalty."""

from collections.abc import Mapping
from typing import Any, ClassVar

import sklearn.linear_model
from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Learner


class Lasso(Learner):
    """Minimises |y - Xw - b|^2 / 2n + alpha |w|_1: many coefficients are exactly 0.

    Parameters: `alpha` and the others of scikit-learn's Lasso. Source: Tibshirani 1996; WMT12 DFKI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"alpha": FloatRange(1e-4, 0.3, log=True)}

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return sklearn.linear_model.Lasso(
            **{"alpha": 0.01, "max_iter": 20_000, "random_state": seed, **params}
        )
