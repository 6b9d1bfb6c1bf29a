"""Linear regression with absolute and quadratic penalties."""

from collections.abc import Mapping
from typing import Any, ClassVar

import sklearn.linear_model
from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Learner


class ElasticNet(Learner):
    """Minimises |y - Xw - b|^2 / 2n + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2).

    Parameters: `alpha`, `l1_ratio` and the others of scikit-learn's ElasticNet. Source: Zou and Hastie 2005.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "alpha": FloatRange(1e-3, 1.0, log=True),
        "l1_ratio": FloatRange(0.05, 1.0),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return sklearn.linear_model.ElasticNet(
            **{"alpha": 0.05, "l1_ratio": 0.3, "max_iter": 20_000, "random_state": seed, **params}
        )
