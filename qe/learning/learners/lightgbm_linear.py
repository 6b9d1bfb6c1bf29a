"""Gradient-boosted trees with linear models in their leaves."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.boosting import REPRODUCIBLE, TRUSTED_TYPES, BoostedTrees
from qe.learning.learner import Learner


class LightGBMLinear(Learner):
    """Boosted piecewise-linear trees; `linear_lambda` is the quadratic penalty of the leaf models.

    Parameters: those of `lightgbm`, and `linear_lambda`. Deterministic for one `seed`.

    Source: Shi et al. 2019.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(20, 300, log=True),
        "learning_rate": FloatRange(0.01, 0.2, log=True),
        "num_leaves": IntRange(2, 15, log=True),
        "min_child_samples": IntRange(10, 200, log=True),
        "linear_lambda": FloatRange(1e-2, 1e3, log=True),
        "colsample_bytree": FloatRange(0.1, 1.0),
    }
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        defaults = {"num_leaves": 7, "linear_lambda": 10.0, "learning_rate": 0.05}
        return BoostedTrees(
            **{**REPRODUCIBLE, **defaults, "random_state": seed, **params, "linear_tree": True}
        )
