"""The mean label for every segment."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor

from qe.learning.learner import Learner


class Mean(Learner):
    """Predicts one value: the reference below which a learner has learned nothing.

    Parameters: `strategy` (`mean`, `median`, `quantile`, `constant`) and the others of scikit-learn's
    DummyRegressor. Source: WMT12 DCU-SYMC report the training mean beside their systems.
    """

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return DummyRegressor(**params)
