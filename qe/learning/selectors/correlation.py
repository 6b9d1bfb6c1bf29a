"""Drops features that repeat another one."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Part
from qe.learning.selector import Selector


class CorrelationPruning(Selector):
    """Keeps each feature whose |r| with all kept before it is at most `threshold`.

    Features come in column order.

    A constant feature carries nothing and is dropped, unless every feature is constant: then the first
    stays, since a learner needs a column. The labels are not looked at.

    Source: WMT12 Loria, Algorithm 1, first loop (threshold .999).
    """

    space: ClassVar[Mapping[str, Distribution]] = {"threshold": FloatRange(0.7, 0.999)}

    def __init__(self, threshold: Part = 0.999) -> None:
        self.threshold = threshold

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        self.support_ = uncorrelated(validate_data(self, X, dtype=np.float64), self.threshold)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return np.asarray(self.support_)


def uncorrelated(X: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """(k,) which columns of X (n, k) stay.

    >>> uncorrelated(np.array([[1.0, -2.0, 0.0], [2.0, -4.0, 1.0], [3.0, -6.0, 0.0]]), 0.999).tolist()
    [True, False, True]
    """
    centred = X - X.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    # A constant column's residue after centring is rounding noise of the size of its values.
    constant = norm <= 1e-12 * np.sqrt(len(X)) * np.abs(X).max(axis=0, initial=0.0)
    if constant.all():
        return np.asarray(np.arange(X.shape[1]) == 0)
    unit = centred / np.where(constant, 1.0, norm)
    close = np.abs(unit.T @ unit) > threshold
    keep: NDArray[np.bool_] = ~constant
    for column in np.flatnonzero(~constant):
        if keep[column]:
            keep[column + 1 :] &= ~close[column, column + 1 :]
    return keep
