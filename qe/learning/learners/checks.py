"""Checks of inputs and weights, and cross-fitted predictions of training rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from features.basics.array_types import FloatArray, IntArray
from features.basics.hints import check_parameters


def training_data(estimator: BaseEstimator, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """Features (n, k) and labels (n,) as finite float64; sets `n_features_in_` and `feature_names_in_`.

    Raises InputError for a parameter that is not of its annotated type and range, and by `check_parameters`.
    """
    check_parameters(estimator, estimator.get_params(deep=False))
    if hasattr(estimator, "check_parameters"):
        estimator.check_parameters()
    X, y = validate_data(estimator, X, y, dtype=np.float64, y_numeric=True)
    return np.ascontiguousarray(X), np.asarray(y, np.float64)


def relative_weights(sample_weight: Any, n: int) -> FloatArray:
    """Weights (n,) divided by their mean, so that penalties keep their meaning; ones for None."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, np.float64)
    if (
        weights.shape != (n,)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or not weights.sum() > 0
    ):
        raise ValueError(f"sample_weight must be {n} finite numbers, none negative, not all zero")
    return np.asarray(weights / weights.mean())


def rows_to_predict(estimator: BaseEstimator, X: Any) -> FloatArray:
    """A fitted estimator's columns (n, k) as finite float64."""
    check_is_fitted(estimator)
    if isinstance(X, pd.DataFrame) and (X.dtypes == np.float64).all():  # skips the check of each column
        X = validate_data(estimator, X, reset=False, skip_check_array=True)  # checks names and number
        return np.asarray(check_array(X.to_numpy(), dtype=np.float64, estimator=estimator))
    return np.asarray(validate_data(estimator, X, reset=False, dtype=np.float64))


def contiguous_folds(n: int, folds: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yields (train, held out) rows for contiguous blocks, because neighbours share a document."""
    rows = np.arange(n)
    for test in np.array_split(rows, max(min(folds, n), 1)):
        yield np.setdiff1d(rows, test), test


def cross_fit(
    estimator: BaseEstimator, X: FloatArray, y: FloatArray, folds: int, weights: FloatArray | None = None
) -> FloatArray:
    """Cross-fitted predictions (n,) over contiguous blocks. A single row gets its own label."""
    predicted = y.copy()
    for train, test in contiguous_folds(len(y), folds):
        if len(train):
            extra = {} if weights is None else {"sample_weight": weights[train]}
            predicted[test] = clone(estimator).fit(X[train], y[train], **extra).predict(X[test])
    return predicted
