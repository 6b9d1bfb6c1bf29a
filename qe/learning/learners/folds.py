"""Cross-fitting: predictions for training rows by models that did not see them."""

from collections.abc import Iterator

import numpy as np
from sklearn.base import BaseEstimator, clone

from features.basics.array_types import FloatArray, IntArray


def contiguous_folds(n: int, folds: int) -> Iterator[tuple[IntArray, IntArray]]:
    """(train, held out) rows of min(folds, n) contiguous blocks: neighbours share a document.

    >>> [held.tolist() for _, held in contiguous_folds(5, 2)]
    [[0, 1, 2], [3, 4]]
    """
    rows = np.arange(n)
    for held in np.array_split(rows, max(min(folds, n), 1)):
        yield np.setdiff1d(rows, held), held


def cross_fit(
    estimator: BaseEstimator, X: FloatArray, y: FloatArray, folds: int, weights: FloatArray | None = None
) -> FloatArray:
    """(n,) predictions, each by a clone fitted without the row's block.

    A single row gets its own label.
    """
    predicted = y.copy()
    for train, held in contiguous_folds(len(y), folds):
        if len(train):
            extra = {} if weights is None else {"sample_weight": weights[train]}
            predicted[held] = clone(estimator).fit(X[train], y[train], **extra).predict(X[held])
    return predicted
