"""Boosted trees for quantiles of the label."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator, RegressorMixin

from qe.learners._base import Learner
from qe.learners._boosting import REPRODUCIBLE, TRUSTED_TYPES, BoostedTrees
from qe.learners._checks import relative_weights, rows_to_predict, training_data

FloatArray = NDArray[np.float64]


class QuantileBoosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One boosted model per quantile; the score is the median, `predict_quantiles` gives all of them.

    quantiles   in rising order, between 0 and 1; the median is interpolated where .5 is not among them
    n_estimators, num_leaves, learning_rate, min_child_samples, colsample_bytree, reg_lambda as in LightGBM

    Crossing quantiles are put in order (Chernozhukov et al. 2010). Source: Koenker and Bassett 1978;
    Friedman 2001.
    """

    def __init__(
        self,
        quantiles: tuple[float, ...] = (0.1, 0.5, 0.9),
        n_estimators: int = 150,
        num_leaves: int = 7,
        learning_rate: float = 0.05,
        min_child_samples: int = 20,
        colsample_bytree: float = 0.5,
        reg_lambda: float = 1.0,
        n_jobs: int = 1,
        seed: int = 0,
    ) -> None:
        self.quantiles = quantiles
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.min_child_samples = min_child_samples
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        own = ("quantiles", "seed")
        params = {name: value for name, value in self.get_params().items() if name not in own}
        self.models_ = [
            BoostedTrees(
                **{**REPRODUCIBLE, **params}, random_state=self.seed, objective="quantile", alpha=quantile
            ).fit(X, y, weights)
            for quantile in self.quantiles
        ]
        return self

    def predict(self, X: Any) -> FloatArray:
        values = self.predict_quantiles(X)
        return np.asarray([np.interp(0.5, self.quantiles, row) for row in values])

    def predict_quantiles(self, X: Any) -> FloatArray:
        """(n, quantiles), rising along each row."""
        X = rows_to_predict(self, X)
        return np.sort(np.column_stack([model.predict(X) for model in self.models_]), axis=1)


class Quantiles(Learner):
    """Boosted quantile regression, scored by its median; see QuantileBoosting for the parameters."""

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "n_estimators": IntDistribution(50, 500, log=True),
        "learning_rate": FloatDistribution(0.01, 0.2, log=True),
        "num_leaves": IntDistribution(3, 31, log=True),
        "min_child_samples": IntDistribution(5, 100, log=True),
        "colsample_bytree": FloatDistribution(0.1, 1.0),
        "reg_lambda": FloatDistribution(1e-2, 100.0, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = (
        *TRUSTED_TYPES,
        "qe.learners.quantile_boosting.QuantileBoosting",
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return QuantileBoosting(**{"seed": seed, **params})
