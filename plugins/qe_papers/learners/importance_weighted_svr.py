"""RBF support vector regression with features scaled by importance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import ElasticNet
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.errors import unknown_name
from features.basics.hints import NotNegative, Positive, Seed, Share
from qe.config.distributions import Choice, Distribution, FloatRange
from qe.learning.boosting import REPRODUCIBLE, BoostedTrees
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe.learning.learners.similarity import predicted
from qe_papers.learner import OwnLearner


@dataclass(repr=False, eq=False)
class ImportanceWeightedSvr(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """SVR on X * w, with w = floor + (1 - floor) (importance / largest importance)^power.

    importance      `elastic_net` (|coefficient|), `lightgbm` (total gain) or `both` (mean of the two, each
                    divided by its maximum)
    alpha, l1_ratio elastic net parameters
    power, floor    shape of the weights; floor 1 gives equal weights
    C, epsilon      SVR parameters
    gamma_scale     gamma = gamma_scale / sum of w^2
    seed            LightGBM's seed

    If all importances are 0, weights are equal. After fit: `weights_` (k,).

    Source: own; feasibility study on WMT12.
    """

    importance: Literal["elastic_net", "lightgbm", "both"] = "elastic_net"
    alpha: NotNegative = 0.05
    l1_ratio: Share = 0.3
    power: NotNegative = 1.2
    floor: Share = 0.15
    C: Positive = 1.0
    gamma_scale: Positive = 0.2
    epsilon: NotNegative = 0.2
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        self.weights_ = self.floor + (1 - self.floor) * self._importances(X, y, weights) ** self.power
        gamma = self.gamma_scale / float((self.weights_**2).sum())
        self.svr_ = SVR(C=self.C, gamma=gamma, epsilon=self.epsilon, cache_size=500)
        self.svr_.fit(X * self.weights_, y, weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return predicted(self.svr_, rows * self.weights_)

    def _importances(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
        sources = {
            "elastic_net": (self._linear,),
            "lightgbm": (self._gain,),
            "both": (self._linear, self._gain),
        }
        if self.importance not in sources:
            raise unknown_name("importance", self.importance, sources)
        shares = np.mean([_share(source(X, y, weights)) for source in sources[self.importance]], axis=0)
        return _share(shares)

    def _linear(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
        model = ElasticNet(alpha=self.alpha, l1_ratio=self.l1_ratio, max_iter=20_000)
        model.fit(X, y, weights)
        return np.asarray(np.abs(model.coef_))

    def _gain(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
        trees = BoostedTrees(
            **REPRODUCIBLE, n_estimators=150, num_leaves=7, learning_rate=0.05, random_state=self.seed
        )
        return np.asarray(trees.fit(X, y, weights).booster_.feature_importance("gain"), np.float64)


def _share(importances: FloatArray) -> FloatArray:
    largest = importances.max()
    return importances / largest if largest > 0 else np.ones_like(importances)


class ImportanceWeighted(OwnLearner):
    """Importance-weighted SVR, the feasibility study's best learner; see ImportanceWeightedSvr."""

    regressor = ImportanceWeightedSvr
    space: ClassVar[Mapping[str, Distribution]] = {
        "importance": Choice(["elastic_net", "both"]),
        "alpha": FloatRange(0.01, 0.2, log=True),
        "l1_ratio": FloatRange(0.1, 0.9),
        "power": FloatRange(0.5, 2.0),
        "floor": FloatRange(0.0, 0.4),
        "C": FloatRange(0.3, 4.0, log=True),
        "gamma_scale": FloatRange(0.05, 0.8, log=True),
        "epsilon": FloatRange(0.05, 0.4, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)
