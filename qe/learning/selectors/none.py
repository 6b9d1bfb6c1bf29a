"""Keeps every feature."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from qe.learning.selector import Selector


class KeepAll(Selector):
    """No selection: the columns pass unchanged."""

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        validate_data(self, X)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.ones(self.n_features_in_, np.bool_)
