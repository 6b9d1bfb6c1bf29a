"""SVR on sums of kernels over feature groups, or on a precomputed kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVR

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import NotNegative, Positive
from qe.config.distributions import Distribution, FloatRange
from qe.learning.learner import Regressor
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data


@dataclass(eq=False, repr=False)
class KernelSumSvr(Regressor):
    """Support vector regression on a weighted sum of kernels, one per group of columns.

    Parameters
    ----------
    groups : list of dict or None, default=None
        Each `{columns: [...], kernel: rbf, weight: 1, gamma: ..., degree: ..., coef0: ...}`; columns are
        numbers from 0, names, or patterns (`lm_*`); kernels are scikit-learn's. None: one RBF.
    precomputed : bool, default=False
        X itself is the kernel: (n, n) against the training segments in fit, (m, n) in predict.
        Cross-validation slices both axes (scikit-learn's `pairwise` tag); columns are not imputed, scaled or
        selected.

    Each group's kernel is divided by its mean diagonal over the training segments, so that weights are
    comparable. Source: WMT12 UU, Section 2.3 (sums of kernels).
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 30.0, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }
    trusted_types: ClassVar[tuple[str, ...]] = ("sklearn.svm._classes.SVR",)

    groups: Sequence[Mapping[str, Any]] | None = None
    precomputed: bool = False
    C: Positive = 1.0
    epsilon: NotNegative = 0.2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.precomputed
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        if self.precomputed and X.shape[0] != X.shape[1]:
            raise InputError(f"a precomputed kernel is square, but got {X.shape[0]} x {X.shape[1]}")
        self.rows_ = X if not self.precomputed else np.zeros((0, 0))
        self.columns_ = [_columns(group, self, X.shape[1]) for group in self._groups()]
        self.diagonals_ = [1.0 for _ in self.columns_]
        self.diagonals_ = [float(np.trace(K)) / len(X) or 1.0 for K in self._kernels(X)]
        self.svr_ = SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, cache_size=500)
        self.svr_.fit(self._gram(X), y, weights)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.svr_.predict(self._gram(rows)))

    def _groups(self) -> Sequence[Mapping[str, Any]]:
        if self.precomputed:
            return []
        return self.groups or [{"columns": ["*"]}]

    def _kernels(self, X: FloatArray) -> list[FloatArray]:
        kernels = []
        for group, columns, diagonal in zip(self._groups(), self.columns_, self.diagonals_, strict=True):
            params = {key: value for key, value in group.items() if key in ("gamma", "degree", "coef0")}
            kernel = group.get("kernel", "rbf")
            K = pairwise_kernels(X[:, columns], self.rows_[:, columns], metric=kernel, **params)
            kernels.append(np.asarray(K) / diagonal)
        return kernels

    def _gram(self, X: FloatArray) -> FloatArray:
        if self.precomputed:
            return X
        weights = [float(group.get("weight", 1.0)) for group in self._groups()]
        return np.asarray(sum(w * K for w, K in zip(weights, self._kernels(X), strict=True)))


def _columns(group: Mapping[str, Any], estimator: BaseEstimator, width: int) -> NDArray[np.int64]:
    unknown = set(group) - {"columns", "kernel", "weight", "gamma", "degree", "coef0"}
    if unknown:
        raise InputError(f"a kernel group has no key '{min(unknown)}'")
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    chosen: set[int] = set()
    for column in group["columns"]:
        if column == "*":
            columns = list(range(width))
        elif isinstance(column, int):
            columns = [column] if 0 <= column < width else []
        else:
            columns = [j for j, name in enumerate(names) if fnmatchcase(name, column)]
        if not columns:
            raise InputError(
                f"no feature matches '{column}'", remedy=f"known: {', '.join(names) or 'numbers only'}"
            )
        chosen.update(columns)
    return np.asarray(sorted(chosen), np.int64)
