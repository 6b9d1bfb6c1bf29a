"""Linear regression with a quadratic penalty."""

from collections.abc import Mapping
from typing import Any, ClassVar

import sklearn.linear_model
from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Learner


class Ridge(Learner):
    """Minimises |y - Xw - b|^2 + alpha |w|^2 on standardised features.

    `alpha` is in units of segments.

    Deterministic: `seed` is used by the stochastic solvers only. Source: Hoerl and Kennard 1970.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"alpha": FloatRange(1e-2, 1e4, log=True)}

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return sklearn.linear_model.Ridge(**{"random_state": seed, **params})
