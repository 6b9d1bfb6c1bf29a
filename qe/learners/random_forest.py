"""Random forests."""

from collections.abc import Mapping
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator

from qe.learners._base import Learner
from qe.learners._forest import ForestRegressor


class RandomForest(Learner):
    """Mean of trees, each grown on a bootstrap sample with a random share of features tried per split.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Breiman 2001; WMT12 LIMSI.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "n_estimators": IntDistribution(100, 500, step=100),
        "max_features": FloatDistribution(0.05, 1.0, log=True),
        "min_samples_leaf": IntDistribution(1, 30, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learners._forest.ForestRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return ForestRegressor(**{"seed": seed, **params})
