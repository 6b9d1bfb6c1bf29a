"""Support vector regression with a radial basis function kernel."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.svm import SVR

from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Learner


class SvrRbf(Learner):
    """Epsilon-insensitive regression with k(x, z) = exp(-gamma |x - z|^2).

    Features are standardised.

    Parameters: `C`, `gamma` (number, 'scale' or 'auto'), `epsilon` (in units of the label), and the other
    parameters of scikit-learn's SVR. Deterministic: `seed` is not used.

    Source: Drucker et al. 1997; the baseline of the WMT12 quality estimation task (findings, Section 6.3).
    """

    # The best of the 96 configurations tried on the official 17 features is C 4, gamma .01, epsilon .2.
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 32.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return SVR(**{"cache_size": 500, **params, "kernel": "rbf"})
