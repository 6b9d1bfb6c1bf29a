"""Gaussian process regression with automatic relevance determination."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Seed
from qe.config.distributions import Choice, Distribution, IntRange
from qe.learning.learner import Learner
from qe.learning.learners._checks import relative_weights, rows_to_predict, training_data

_BOUNDS = (-7.0, 7.0)  # of log length scales and log variances, in units of standardised features and labels
_LEAST_NOISE = -7.0


class ArdGaussianProcess(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Squared-exponential kernel with one length scale per feature (`ard`) and noise, by marginal likelihood.

    ard           False: one length scale for all features
    n_optimise    training rows (drawn with `seed`) that choose the length scales; all rows are then used
    max_iter      iterations of L-BFGS

    A row of weight w has 1 / w of the noise variance.

    After fit: `length_scales_` (k,) in units of the features, large where a feature does not matter;
    `signal_variance_` and `noise_variance_` in squared label units. O(n^3) time, O(n^2) memory.

    Source: Rasmussen and Williams 2006, Section 5.1.
    """

    def __init__(
        self, ard: bool = True, n_optimise: Count = 500, max_iter: Count = 50, seed: Seed = 0
    ) -> None:
        self.ard = ard
        self.n_optimise = n_optimise
        self.max_iter = max_iter
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        self.centre_ = float(np.average(y, weights=weights))
        spread = float(y.std()) or 1.0
        target = (y - self.centre_) / spread
        noise = 1 / np.maximum(weights, 1e-6)
        theta = self._optimise(X, target, noise)
        scales = np.exp(theta[:-2])
        kernel = np.exp(theta[-2]) * _correlation(X / scales, X / scales)
        kernel[np.diag_indices(len(y))] += np.exp(theta[-1]) * noise
        self.coefficients_ = spread * cho_solve(cho_factor(kernel), target)
        self.rows_, self.length_scales_ = X, scales * np.ones(X.shape[1])
        self.signal_variance_ = float(np.exp(theta[-2])) * spread**2
        self.noise_variance_ = float(np.exp(theta[-1])) * spread**2
        self.signal_ = float(np.exp(theta[-2]))
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        kernel = self.signal_ * _correlation(X / self.length_scales_, self.rows_ / self.length_scales_)
        return np.asarray(kernel @ self.coefficients_ + self.centre_)

    def _optimise(self, X: FloatArray, y: FloatArray, noise: FloatArray) -> FloatArray:
        """log of (length scales, signal variance, noise variance) of the highest marginal likelihood."""
        chosen = np.sort(np.random.default_rng(self.seed).permutation(len(y))[: self.n_optimise])
        X, y, noise = X[chosen], y[chosen], noise[chosen]
        scales = X.shape[1] if self.ard else 1
        start = np.concatenate([np.full(scales, 0.5 * np.log(X.shape[1])), [0.0, np.log(0.5)]])
        bounds = [_BOUNDS] * (scales + 1) + [(_LEAST_NOISE, _BOUNDS[1])]
        optimum = minimize(
            _negative_likelihood, start, (X, y, noise), "L-BFGS-B", jac=True, bounds=bounds,
            options={"maxiter": self.max_iter},
        )  # fmt: skip
        return np.asarray(optimum.x)


def _correlation(A: FloatArray, B: FloatArray) -> FloatArray:
    """(n, m) exp(-|a - b|^2 / 2)."""
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.asarray(np.exp(-0.5 * np.maximum(squared, 0.0)))


def _negative_likelihood(
    theta: FloatArray, X: FloatArray, y: FloatArray, share: FloatArray
) -> tuple[float, FloatArray]:
    """-log p(y | X, theta) up to a constant, and its gradient (Rasmussen and Williams, equation 5.9).

    `share` (n,) is each row's part of the noise variance.
    """
    Z = X / np.exp(theta[:-2])
    signal = np.exp(theta[-2]) * _correlation(Z, Z)
    noise = float(np.exp(theta[-1]))
    try:
        factor = cho_factor(signal + np.diag(noise * share))
    except LinAlgError:
        return np.inf, np.zeros_like(theta)
    weights = cho_solve(factor, y)
    outer = np.outer(weights, weights) - cho_solve(factor, np.eye(len(y)))
    both = outer * signal
    # sum_ij M_ij (z_i - z_j)^2 = 2 (sum_i r_i z_i^2 - z' M z): no (n, n, k) array is needed.
    per_feature = both.sum(axis=1) @ Z**2 - (Z * (both @ Z)).sum(axis=0)
    lengths = per_feature if len(theta) > 3 or X.shape[1] == 1 else np.array([per_feature.sum()])
    gradient = np.concatenate([lengths, [0.5 * both.sum(), 0.5 * noise * float(np.diag(outer) @ share)]])
    value = 0.5 * float(y @ weights) + float(np.log(np.diag(factor[0])).sum())
    return value, -gradient


class GaussianProcess(Learner):
    """Gaussian process with a length scale per feature; see ArdGaussianProcess for the parameters.

    Source: Rasmussen and Williams 2006; Cohn and Specia 2013 for quality estimation.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "ard": Choice([True, False]),
        "max_iter": IntRange(5, 100, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learning.learners.gaussian_process.ArdGaussianProcess",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return ArdGaussianProcess(**{"seed": seed, **params})
