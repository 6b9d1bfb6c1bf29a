"""Clipping: limits values to the range of the training rows, and fills undefined ones."""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer


class ClippingImputer(SimpleImputer):  # type: ignore[misc]
    """Clips columns at quantiles of the training rows, and replaces undefined values by medians.

    Parameters
    ----------
    share : float, default=0.03
        Share of training rows at each end of a column whose values are clipped.
    """

    def __init__(
        self, share: float = 0.03, *, strategy: str = "median", keep_empty_features: bool = True
    ) -> None:
        super().__init__(strategy=strategy, keep_empty_features=keep_empty_features)
        self.share = share

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.low_ = X.quantile(self.share).fillna(-np.inf).to_numpy()
        self.high_ = X.quantile(1 - self.share).fillna(np.inf).to_numpy()
        super().fit(self._cut(X), y)
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        cut: pd.DataFrame = super().transform(self._cut(X))
        return cut

    def _cut(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.clip(self.low_, self.high_, axis=1)
