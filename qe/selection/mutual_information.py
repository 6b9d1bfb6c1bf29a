"""Features with the highest mutual information with the label."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from optuna.distributions import BaseDistribution, IntDistribution
from sklearn.feature_selection import mutual_info_regression

from qe.selection._checks import FloatArray
from qe.selection._ranking import RankingSelector


class MutualInformation(RankingSelector):
    """Nearest-neighbour estimate of the mutual information, in nats; see RankingSelector for what is kept.

    n_neighbors   of the estimate; fewer where there are fewer segments
    seed          of the tiny noise that breaks ties

    Source: Kraskov et al. 2004.
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {"n_features": IntDistribution(5, 200, log=True)}

    def __init__(
        self,
        n_features: int | None = None,
        threshold: float | None = 0.0,
        n_neighbors: int = 5,
        seed: int = 0,
    ) -> None:
        self.n_features = n_features
        self.threshold = threshold
        self.n_neighbors = n_neighbors
        self.seed = seed

    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        neighbours = max(min(self.n_neighbors, len(y) - 1), 1)
        return np.asarray(mutual_info_regression(X, y, n_neighbors=neighbours, random_state=self.seed))
