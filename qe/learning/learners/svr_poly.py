"""Support vector regression with a polynomial kernel."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.svm import SVR

from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import Learner


class SvrPoly(Learner):
    """Epsilon-insensitive regression with k(x, z) = (gamma x.z + coef0)^degree.

    Features are standardised.

    Parameters: `degree`, `gamma`, `coef0`, `C`, `epsilon`, and the others of scikit-learn's SVR; coef0
    defaults to 1, so that lower degrees take part. Deterministic.

    Source: Drucker et al. 1997; WMT12 UU (without its tree kernels).
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-2, 10.0, log=True),
        "gamma": FloatRange(1e-4, 0.1, log=True),
        "coef0": FloatRange(0.5, 5.0, log=True),
        "degree": IntRange(2, 3),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return SVR(**{"cache_size": 500, "degree": 2, "coef0": 1.0, **params, "kernel": "poly"})
