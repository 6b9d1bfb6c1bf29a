"""Extremely randomised trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator

from qe.learners._base import Learner
from qe.learners._forest import ForestRegressor


class ExtraTrees(Learner):
    """Mean of trees grown on all segments, thresholds drawn at random.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Geurts et al. 2006.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "n_estimators": IntDistribution(100, 500, step=100),
        "max_features": FloatDistribution(0.05, 1.0, log=True),
        "min_samples_leaf": IntDistribution(1, 30, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learners._forest.ForestRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        defaults = {"random_thresholds": True, "bootstrap": False, "max_features": 0.5}
        return ForestRegressor(**{**defaults, "seed": seed, **params})
