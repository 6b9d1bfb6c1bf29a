"""Transformers of numeric columns that pass columns of trees through."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone

from features.core.tree_columns import tree_names, without_trees


class BesideTrees(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transforms the numeric columns, if any; columns of trees follow unchanged."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        numbers = without_trees(X)
        self.feature_names_in_ = np.array(numbers.columns, object)  # features exclude trees
        self.trees_ = tree_names(X)
        self.fitted_ = clone(self.transformer).fit(numbers, y) if numbers.shape[1] else None
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        if self.fitted_ is None:
            return X
        table: pd.DataFrame = self.fitted_.transform(without_trees(X))
        return table.assign(**{name: X[name].to_numpy() for name in tree_names(X)})

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        names = [] if self.fitted_ is None else self.fitted_.get_feature_names_out()
        return np.array([*names, *self.trees_], object)
