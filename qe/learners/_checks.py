"""scikit-learn's input checks, typed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

FloatArray = NDArray[np.float64]


def training_data(estimator: BaseEstimator, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """(n, k) features and (n,) labels, finite float64; sets `n_features_in_` and `feature_names_in_`."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, y_numeric=True)
    return np.ascontiguousarray(X), np.asarray(y, np.float64)


def rows_to_predict(estimator: BaseEstimator, X: Any) -> FloatArray:
    """(n, k) finite float64 of a fitted estimator's columns."""
    check_is_fitted(estimator)
    return np.asarray(validate_data(estimator, X, reset=False, dtype=np.float64))
