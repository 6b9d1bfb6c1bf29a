"""k nearest neighbours."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsRegressor

from qe.config.distributions import Choice, Distribution, IntRange
from qe.learning.learner import Learner


class KNeighbours(Learner):
    """Mean label of the nearest training segments.

    The distance is Euclidean on standardised features.

    Parameters: `n_neighbors` (at most the number of training segments), `weights` (`uniform`, `distance`) and
    the others of scikit-learn's KNeighborsRegressor. Deterministic. Source: Cover and Hart 1967; WMT12 DFKI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_neighbors": IntRange(5, 100, log=True),
        "weights": Choice(["uniform", "distance"]),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return KNeighborsRegressor(**{"n_neighbors": 10, "algorithm": "brute", **params})
