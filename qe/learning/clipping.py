"""Clipping: takes extreme values back to the range of the training rows, and fills in undefined ones."""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer


class ClippingImputer(SimpleImputer):  # type: ignore[misc]
    """Columns cut at quantiles of the training rows, undefined values filled in by their medians.

    Parameters
    ----------
    share : float, default=0.03
        Training rows beyond each end of a column's range, whose values are cut, too.

    A column with few distinct values keeps all of them where fewer rows than `share` differ: a range of one
    point would leave nothing of it.
    """

    def __init__(
        self, share: float = 0.03, *, strategy: str = "median", keep_empty_features: bool = True
    ) -> None:
        super().__init__(strategy=strategy, keep_empty_features=keep_empty_features)
        self.share = share

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Raises ValueError for a table without rows."""
        low, high = X.quantile(self.share), X.quantile(1 - self.share)
        constant = low == high
        self.low_ = low.mask(constant, X.min()).fillna(-np.inf).to_numpy()
        self.high_ = high.mask(constant, X.max()).fillna(np.inf).to_numpy()
        return super().fit(self._cut(X), y)

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """(n, k) without values beyond the range."""
        return super().transform(self._cut(X))

    def _cut(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.clip(self.low_, self.high_, axis=1)
