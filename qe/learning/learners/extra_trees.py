"""Extremely randomised trees."""

from typing import Any

from sklearn.base import BaseEstimator

from qe.learning.learners.forest import ForestRegressor
from qe.learning.learners.random_forest import RandomForest


class ExtraTrees(RandomForest):
    """Mean of trees grown on all segments, thresholds drawn at random.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Geurts et al. 2006.
    """

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        defaults = {"random_thresholds": True, "bootstrap": False, "max_features": 0.5}
        return ForestRegressor(**{**defaults, "seed": seed, **params})
