"""Stability selection."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.linear_model import Lasso

from features.basics.array_types import BoolArray
from features.basics.hints import Count, NotNegative, Seed, Share
from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Part
from qe.learning.selector import Selector
from qe.learning.selectors._checks import correlations, never_empty, training_data


class Stability(Selector):
    """Keeps the features that the lasso chooses on at least a share `threshold` of random halves of the data.

    alpha         of the lasso
    n_resamples   halves, drawn in complementary pairs
    weakness      each feature's penalty is alpha / u, u uniform in weakness .. 1; 1: the plain lasso

    Where none is left, the most frequent one stays (the most correlated of several). After fit:
    `frequencies_` (k,).

    Source: Meinshausen and Buhlmann 2010; Shah and Samworth 2013 (pairs).
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "alpha": FloatRange(3e-3, 0.1, log=True),
        "threshold": FloatRange(0.5, 0.9),
    }

    def __init__(
        self,
        alpha: NotNegative = 0.02,
        threshold: Share = 0.6,
        n_resamples: Count = 50,
        weakness: Part = 0.5,
        seed: Seed = 0,
    ) -> None:
        self.alpha = alpha
        self.threshold = threshold
        self.n_resamples = n_resamples
        self.weakness = weakness
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        rng, chosen = np.random.default_rng(self.seed), np.zeros(X.shape[1])
        halves: list[Any] = []
        for _ in range(self.n_resamples):
            halves = halves or [half for half in np.array_split(rng.permutation(len(y)), 2) if len(half)]
            half = halves.pop()
            weights = rng.uniform(self.weakness, 1.0, X.shape[1])
            chosen += Lasso(self.alpha, max_iter=5000).fit(X[half] * weights, y[half]).coef_ != 0
        self.frequencies_ = chosen / self.n_resamples
        likely = self.frequencies_ + 1e-6 * correlations(X, y)
        self.support_ = never_empty(self.frequencies_ >= self.threshold, likely)
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)
