"""Filters: a score per feature, the highest are kept."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from features.basics.array_types import BoolArray, FloatArray
from qe.learning.selector import Selector
from qe.learning.selectors._checks import never_empty, training_data


class RankingSelector(Selector):
    """Keeps the `n_features` of highest score among those above `threshold`; ties go to the earlier column.

    Where none is above the threshold, the one of highest score stays. After fit: `scores_` (k,).
    """

    n_features: int | None
    threshold: float | None

    @abstractmethod
    def _scores(self, X: FloatArray, y: FloatArray) -> FloatArray:
        """(k,) finite scores, higher is better."""

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.scores_ = self._scores(X, y)
        return self

    def _get_support_mask(self) -> BoolArray:
        ranked = np.argsort(-self.scores_, kind="stable")[: self.n_features]
        kept = np.isin(np.arange(len(self.scores_)), ranked)
        if self.threshold is not None:
            kept &= self.scores_ > self.threshold
        return never_empty(kept, self.scores_)
