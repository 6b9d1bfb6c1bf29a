"""Features with the highest mutual information with the label."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from sklearn.feature_selection import mutual_info_regression

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Seed
from qe.config.distributions import Distribution, IntRange
from qe.learning.selectors._ranking import RankingSelector


class MutualInformation(RankingSelector):
    """Nearest-neighbour estimate of the mutual information, in nats; see RankingSelector for what is kept.

    n_neighbors   of the estimate; fewer if there are fewer segments
    seed          of the tiny noise that breaks ties

    Source: Kraskov et al. 2004.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_features": IntRange(5, 200, log=True)}

    def __init__(
        self,
        n_features: Count | None = None,
        threshold: float | None = 0.0,
        n_neighbors: Count = 5,
        seed: Seed = 0,
    ) -> None:
        self.n_features = n_features
        self.threshold = threshold
        self.n_neighbors = n_neighbors
        self.seed = seed

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        neighbours = max(min(self.n_neighbors, len(y) - 1), 1)
        return np.asarray(mutual_info_regression(X, y, n_neighbors=neighbours, random_state=self.seed))
