"""Learners by similarity of rows: support vector machines, nearest neighbours, kernel ridge."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

import numpy as np
import sklearn.kernel_ridge
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.rows import row_products
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import relative_weights, training_data


@LEARNERS.register("k_neighbours")
class KNeighbours(Learner):
    """Mean label of the nearest training segments, by Euclidean distance on standardised features.

    Parameters: `n_neighbors` (at most the number of training segments), `weights` (`uniform`, `distance`) and
    the others of scikit-learn's KNeighborsRegressor. Deterministic. Source: Cover and Hart 1967; WMT12 DFKI.
    """

    regressor = KNeighborsRegressor
    defaults: ClassVar[Mapping[str, Any]] = {"n_neighbors": 10, "algorithm": "brute"}
    space: ClassVar[Mapping[str, Distribution]] = {
        "n_neighbors": IntRange(5, 100, log=True),
        "weights": Choice(["uniform", "distance"]),
    }


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

    regressor = CentredKernelRidge
    defaults: ClassVar[Mapping[str, Any]] = {"kernel": "rbf"}
    space: ClassVar[Mapping[str, Distribution]] = {
        "alpha": FloatRange(1e-2, 10.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
    }


_ROWS: Final = 256  # rows per block, so that their kernel fits the processor's cache


def predicted(model: Any, rows: FloatArray) -> FloatArray:
    """Predictions (n,) of a fitted model for (n, k) rows, bit-identical in every batch."""
    if type(model) is not SVR or model.kernel != "rbf" or not len(model.support_vectors_):
        return np.asarray(model.predict(rows), np.float64)
    found = np.empty(len(rows))
    squares = (model.support_vectors_**2).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(rows), _ROWS):
            block = rows[first : first + _ROWS]
            distances = row_products(block, model.support_vectors_.T)
            distances *= -2
            distances += (block * block).sum(axis=1, keepdims=True)
            distances += squares
            np.maximum(distances, 0, out=distances)
            distances *= -model._gamma
            kernel = np.exp(distances, out=distances)
            kernel *= model.dual_coef_
            found[first : first + _ROWS] = kernel.sum(axis=1) + model.intercept_[0]
    beyond = ~np.isfinite(found)  # overflow in squares
    if beyond.any():
        found[beyond] = model.predict(rows[beyond])
    return found


@LEARNERS.register("svr_linear")
class SvrLinear(Learner):
    """Epsilon-insensitive linear regression on standardised features.

    Parameters: `C`, `epsilon` (in units of the label), and the others of scikit-learn's SVR. Deterministic.
    Source: Drucker et al. 1997; WMT12 Loria (linear), UPC.
    """

    regressor = SVR
    defaults: ClassVar[Mapping[str, Any]] = {"cache_size": 500, "C": 0.05}
    fixed: ClassVar[Mapping[str, Any]] = {"kernel": "linear"}
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-4, 1.0, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }


@LEARNERS.register("svr_poly")
class SvrPoly(Learner):
    """Epsilon-insensitive regression with k(x, z) = (gamma x.z + coef0)^degree on standardised features.

    Parameters: `degree`, `gamma`, `coef0`, `C`, `epsilon`, and the others of scikit-learn's SVR; coef0
    defaults to 1, which includes lower degrees. Deterministic.
    Source: Drucker et al. 1997; WMT12 UU (without its tree kernels).
    """

    regressor = SVR
    defaults: ClassVar[Mapping[str, Any]] = {"cache_size": 500, "degree": 2, "coef0": 1.0}
    fixed: ClassVar[Mapping[str, Any]] = {"kernel": "poly"}
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(1e-2, 10.0, log=True),
        "gamma": FloatRange(1e-4, 0.1, log=True),
        "coef0": FloatRange(0.5, 5.0, log=True),
        "degree": IntRange(2, 3),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }


@LEARNERS.register("svr_rbf")
class SvrRbf(Learner):
    """Epsilon-insensitive regression with k(x, z) = exp(-gamma |x - z|^2) on standardised features.

    Parameters: `C`, `gamma` (number, 'scale' or 'auto'), `epsilon` (in units of the label), and the other
    parameters of scikit-learn's SVR. Deterministic: `seed` is not used.
    Source: Drucker et al. 1997; the baseline of the WMT12 quality estimation task (findings, Section 6.3).
    """

    regressor = SVR
    defaults: ClassVar[Mapping[str, Any]] = {"cache_size": 500}
    fixed: ClassVar[Mapping[str, Any]] = {"kernel": "rbf"}
    # The best of 96 configurations on the official 17 features is C 4, gamma .01, epsilon .2.
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 32.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }
