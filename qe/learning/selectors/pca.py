"""Principal components."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.hints import Positive
from qe.config.distributions import Distribution, IntRange
from qe.learning.selector import Selector


class PrincipalComponents(Selector):
    """Replaces the features by the directions of largest variance; the labels are not looked at.

    New columns are `pc0`, `pc1`, ...; every feature takes part, so `get_support` is all True. The sign of a
    component is such that its largest loading is positive.

    Source: Pearson 1901; WMT12 PRHLT-UPV, Section 3.1 (PS).

    Parameters
    ----------
    n_components : float, default=0.95
        A number (at most the rank), or a share of the variance in 0 .. 1.
    whiten : bool, default=False
        Components of unit variance.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"n_components": IntRange(5, 250, log=True)}

    def __init__(self, n_components: Positive = 0.95, whiten: bool = False) -> None:
        self.n_components = n_components
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None) -> Self:
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        if not self.n_components > 0:
            raise InputError(f"n_components must be positive, but got {self.n_components}")
        self.means_ = X.mean(axis=0)
        _, singular, rows = np.linalg.svd(X - self.means_, full_matrices=False)
        variances = singular**2 / max(len(X) - 1, 1)
        rank = max(int((singular > 1e-10 * max(float(singular.max()), 1e-300)).sum()), 1)
        size = min(self._size(variances), rank)
        largest = np.abs(rows[:size]).argmax(axis=1)
        signs = np.where(rows[np.arange(size), largest] < 0, -1.0, 1.0)
        deviations = np.sqrt(np.where(variances[:size] > 0, variances[:size], 1.0))
        self.components_ = rows[:size] * signs[:, None]
        if self.whiten:
            self.components_ = self.components_ / deviations[:, None]
        self.explained_variance_ = variances[:size]
        return self

    def _size(self, variances: FloatArray) -> int:
        if self.n_components >= 1 or variances.sum() == 0:
            return max(int(self.n_components), 1)
        share = np.cumsum(variances) / variances.sum()
        return int(np.searchsorted(share, self.n_components * (1 - 1e-12))) + 1

    def transform(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        return np.asarray((X - self.means_) @ self.components_.T)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        return np.asarray([f"pc{i}" for i in range(len(self.components_))], dtype=object)

    def _get_support_mask(self) -> BoolArray:
        return np.ones(self.n_features_in_, np.bool_)
