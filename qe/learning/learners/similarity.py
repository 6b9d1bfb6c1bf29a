"""Learners based on similar training segments: nearest neighbours, kernel ridge regression."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import sklearn.kernel_ridge
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsRegressor

from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import relative_weights, training_data


@LEARNERS.register("k_neighbours")
class KNeighbours(Learner):
    """Mean label of the nearest training segments, by Euclidean distance on standardised features.

    Parameters: `n_neighbors` (at most the number of training segments), `weights` (`uniform`, `distance`) and
    the others of scikit-learn's KNeighborsRegressor. Deterministic. Source: Cover and Hart 1967; WMT12 DFKI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_neighbors": IntRange(5, 100, log=True),
        "weights": Choice(["uniform", "distance"]),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return KNeighborsRegressor(**{"n_neighbors": 10, "algorithm": "brute", **params})


class CentredKernelRidge(sklearn.kernel_ridge.KernelRidge):  # type: ignore[misc]
    """KernelRidge with an intercept: without it, predictions far from the data are 0."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        labels = training_data(self, X, y)[1]
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        relative_weights(weights, len(labels))  # raises ValueError for invalid weights
        self.centre_ = float(np.average(labels, weights=weights))
        super().fit(X, labels - self.centre_, weights)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.target_tags.multi_output = False, False
        return tags

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(super().predict(X) + self.centre_)


@LEARNERS.register("kernel_ridge")
class KernelRidge(Learner):
    """Squared error with a quadratic penalty in a kernel's feature space, labels centred.

    Parameters: `alpha`, `gamma`, `kernel` (default `rbf`; also `laplacian`, `polynomial`, ...) and the others
    of scikit-learn's KernelRidge. Deterministic. Source: Saunders et al. 1998.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "alpha": FloatRange(1e-2, 10.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return CentredKernelRidge(**{"kernel": "rbf", **params})
