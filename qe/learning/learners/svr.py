"""Support vector regression with linear, polynomial and RBF kernels."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.rows import row_products
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS, Learner

_ROWS: Final = 256  # rows per block, so that their kernel fits the processor's cache


def predicted(model: Any, rows: FloatArray) -> FloatArray:
    """Predictions (n,) of a fitted model for (n, k) rows, bit-identical in every batch."""
    if type(model) is not SVR or model.kernel != "rbf" or not len(model.support_vectors_):
        return np.asarray(model.predict(rows), np.float64)
    found = np.empty(len(rows))
    squares = (model.support_vectors_**2).sum(axis=1)
    for first in range(0, len(rows), _ROWS):
        some = slice(first, first + _ROWS)
        found[some] = _block(model, rows[some], squares)
    beyond = ~np.isfinite(found)  # overflow in squares
    if beyond.any():
        found[beyond] = model.predict(rows[beyond])
    return found


def _block(model: SVR, rows: FloatArray, squares: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        distances = row_products(rows, model.support_vectors_.T)
        distances *= -2
        distances += (rows * rows).sum(axis=1, keepdims=True)
        distances += squares
        np.maximum(distances, 0, out=distances)
        distances *= -model._gamma
        kernel = np.exp(distances, out=distances)
        kernel *= model.dual_coef_
        return np.asarray(kernel.sum(axis=1) + model.intercept_[0], np.float64)


@LEARNERS.register("svr_linear")
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


@LEARNERS.register("svr_poly")
class SvrPoly(Learner):
    """Epsilon-insensitive regression with k(x, z) = (gamma x.z + coef0)^degree on standardised features.

    Parameters: `degree`, `gamma`, `coef0`, `C`, `epsilon`, and the others of scikit-learn's SVR; coef0
    defaults to 1, which includes lower degrees. Deterministic.
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


@LEARNERS.register("svr_rbf")
class SvrRbf(Learner):
    """Epsilon-insensitive regression with k(x, z) = exp(-gamma |x - z|^2) on standardised features.

    Parameters: `C`, `gamma` (number, 'scale' or 'auto'), `epsilon` (in units of the label), and the other
    parameters of scikit-learn's SVR. Deterministic: `seed` is not used.
    Source: Drucker et al. 1997; the baseline of the WMT12 quality estimation task (findings, Section 6.3).
    """

    # The best of 96 configurations on the official 17 features is C 4, gamma .01, epsilon .2.
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 32.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return SVR(**{"cache_size": 500, **params, "kernel": "rbf"})
