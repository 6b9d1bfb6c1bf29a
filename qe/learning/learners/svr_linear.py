"""Support vector regression with a linear kernel."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.svm import SVR

from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Learner


class SvrLinear(Learner):
    """Epsilon-insensitive linear regression on standardised features.

    Parameters: `C`, `epsilon` (in units of the label), and the others of scikit-learn's SVR. Deterministic.

    Source: Drucker et al. 1997; WMT12 Loria (linear), UPC.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-4, 1.0, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return SVR(**{"cache_size": 500, "C": 0.05, **params, "kernel": "linear"})
