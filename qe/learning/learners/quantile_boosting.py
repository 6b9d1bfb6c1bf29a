"""Boosted trees for quantiles of the label."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Gt, Lt, MinLen
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative, Positive, Seed
from qe.config.distributions import Distribution, IntRange
from qe.config.ranges import Part, Threads
from qe.learning.boosting import REPRODUCIBLE, SMALL_TREES, TRUSTED_TYPES, BoostedTrees, Leaves
from qe.learning.learner import Learner
from qe.learning.learners._checks import relative_weights, rows_to_predict, training_data


class QuantileBoosting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One boosted model per quantile; the score is the median, `predict_quantiles` gives all of them.

    quantiles   in rising order, between 0 and 1; the median is interpolated where .5 is not among them
    n_estimators, num_leaves, learning_rate, min_child_samples, colsample_bytree, reg_lambda as in LightGBM

    Crossing quantiles are put in order (Chernozhukov et al. 2010). Source: Koenker and Bassett 1978;
    Friedman 2001.
    """

    def __init__(
        self,
        quantiles: Annotated[Sequence[Annotated[float, Gt(0), Lt(1)]], MinLen(1)] = (0.1, 0.5, 0.9),
        n_estimators: Count = 150,
        num_leaves: Leaves = 7,
        learning_rate: Positive = 0.05,
        min_child_samples: Annotated[int, Ge(0)] = 20,
        colsample_bytree: Part = 0.5,
        reg_lambda: NotNegative = 1.0,
        n_jobs: Threads = 1,
        seed: Seed = 0,
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

    def check_parameters(self) -> None:
        """Raises InputError for quantiles that do not rise."""
        if list(self.quantiles) != sorted(set(self.quantiles)):
            raise InputError(f"`quantiles` must rise, but got {list(self.quantiles)}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.check_parameters()
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

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(50, 500, log=True),
        **SMALL_TREES,
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = (
        *TRUSTED_TYPES,
        "qe.learning.learners.quantile_boosting.QuantileBoosting",
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return QuantileBoosting(**{"seed": seed, **params})
