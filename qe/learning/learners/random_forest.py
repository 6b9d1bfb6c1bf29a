"""Random forests."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.forest import ForestRegressor


class RandomForest(Learner):
    """Mean of trees grown on bootstrap samples.

    Each split tries a random share of the features.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Breiman 2001; WMT12 LIMSI.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(100, 500, step=100),
        "max_features": FloatRange(0.05, 1.0, log=True),
        "min_samples_leaf": IntRange(1, 30, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learning.learners.forest.ForestRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return ForestRegressor(**{"seed": seed, **params})
