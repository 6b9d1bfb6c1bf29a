"""Support vector regression with a polynomial kernel on features and tree kernels on parses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.svm import SVR
from sklearn.utils.validation import check_is_fitted

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative, Part, Positive
from features.core.tree_columns import tree_names, without_trees
from features.syntax.trees import Trees, gathered
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data
from qe_papers.tree_kernels import PartialTreeKernel, SubsetTreeKernel, TreeKernel

Rows = NDArray[np.int64]


@dataclass(repr=False, eq=False)
class TreeKernelSvr(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """SVR on a kernel of features plus tree kernels.

    k(x, z) = p(x, z) + tree_weight * (sum over columns of trees of their normalised tree kernel), with
    p(x, z) = (gamma x.z + coef0)^degree on features scaled to 0 .. 1 over the training rows, divided by
    sqrt(p(x, x) p(z, z)) unless `normalise` is false. X is a table whose columns of trees come from the
    experiment's `trees`. Without such columns, or for an array, k = p; without features, k is the tree part.

    tree_weight   weight of the tree kernels
    degree, gamma, coef0, normalise  parameters of the kernel on features
    C, epsilon    SVR parameters
    partial       names or patterns of columns with the partial tree kernel; others use the subset tree kernel
    decay         lambda of the tree kernels
    depth_decay   mu of the partial tree kernel

    After fit: `support_rows_` (s, k), `support_trees_` (name -> trees), `weights_` (s,) and `intercept_`,
    which predictions use; `tree_means_` (name -> mean contribution of the column to the training
    predictions).

    Source: WMT12 UU, Section 3; defaults of SVM-light-TK, which normalises both kernels (Moschitti 2006).
    """

    tree_weight: NotNegative = 0.05
    degree: Count = 2
    gamma: Positive = 1.0
    coef0: NotNegative = 1.0
    normalise: bool = True
    C: Positive = 4.0
    epsilon: NotNegative = 0.1
    partial: Sequence[str] = ("dependencies_*",)
    decay: Part = 0.4
    depth_decay: Part = 0.4

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.gamma <= 0 or self.coef0 < 0:
            raise InputError(
                f"gamma must be more than 0 and coef0 not less, but they are {self.gamma} and {self.coef0}"
            )
        trees = _trees(X)
        rows, y = self._training_rows(X, y)
        weights = relative_weights(sample_weight, len(y))
        # A kernel covers one batch, so that folds of the same batch share its values.
        self._batches = {name: _batch(*column) for name, column in trees.items()}
        svr = SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, cache_size=500)
        kernel = self._polynomial(rows, rows)
        for name, (batch, places) in self._batches.items() if self.tree_weight else ():
            kernel += self.tree_weight * self._kernel(name).gram(batch)[np.ix_(places, places)]
        svr.fit(kernel, y, weights)
        self.weights_, self.intercept_ = svr.dual_coef_[0], float(svr.intercept_[0])
        self.support_rows_ = rows[svr.support_]
        self._support = {name: places[svr.support_] for name, (_, places) in self._batches.items()}
        self.support_trees_ = {
            name: self._batches[name][0].take(places) for name, places in self._support.items()
        }
        parts = self._tree_parts(self._batches)
        self.tree_means_ = {name: float(part.mean()) for name, part in parts.items()}
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predictions (n,); raises InputError for a table without the trees of training."""
        check_is_fitted(self)
        trees = _trees(X)
        if list(trees) != list(self.support_trees_):
            raise InputError(
                f"the trees {', '.join(self.support_trees_) or 'of none'} are needed, "
                f"but there are {', '.join(trees) or 'none'}"
            )
        return self._from_features(X) + sum(self._tree_parts(trees).values(), np.zeros(len(X)))

    def predict_features(self, X: Any) -> FloatArray:
        """Predictions (n,) from features alone, with the mean contribution of every column of trees."""
        return self._from_features(X) + sum(self.tree_means_.values())

    def tree_effects(self, X: pd.DataFrame) -> dict[str, FloatArray]:
        """Column -> contribution (n,) of its trees to the predictions, minus the mean."""
        parts = self._tree_parts(_trees(X))
        return {name: part - self.tree_means_[name] for name, part in parts.items()}

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_batches", "_support")}

    def _training_rows(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        if isinstance(X, pd.DataFrame) and not without_trees(X).shape[1]:
            self.n_features_in_, values = 0, np.empty((len(X), 0))
            y = np.asarray(y, np.float64)
        else:
            values, y = training_data(self, without_trees(X) if isinstance(X, pd.DataFrame) else X, y)
        self.low_ = values.min(axis=0)
        span = values.max(axis=0) - self.low_
        self.scale_ = np.divide(1.0, span, out=np.zeros_like(span), where=span > 0)
        return (values - self.low_) * self.scale_, y

    def _polynomial(self, first: FloatArray, right: FloatArray) -> FloatArray:
        if not first.shape[1]:
            return np.zeros((len(first), len(right)))
        values: FloatArray = (self.gamma * (first @ right.T) + self.coef0) ** self.degree
        if not self.normalise:
            return values
        norms = np.outer(self._norms(first), self._norms(right))
        return np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)

    def _norms(self, rows: FloatArray) -> FloatArray:
        return np.asarray((self.gamma * (rows * rows).sum(axis=1) + self.coef0) ** (self.degree / 2))

    def _kernel(self, name: str) -> TreeKernel:
        if any(fnmatchcase(name, pattern) for pattern in self.partial):
            return PartialTreeKernel(self.decay, self.depth_decay)
        return SubsetTreeKernel(self.decay)

    def _from_features(self, X: Any) -> FloatArray:
        scaled = np.empty((len(X), 0))
        if self.n_features_in_:
            table = rows_to_predict(self, without_trees(X) if isinstance(X, pd.DataFrame) else X)
            scaled = np.ascontiguousarray((table - self.low_) * self.scale_)
        values = self._polynomial(scaled, self.support_rows_)
        return np.asarray((values * self.weights_).sum(axis=1) + self.intercept_)

    def _tree_parts(self, trees: Mapping[str, tuple[Trees, Rows]]) -> dict[str, FloatArray]:
        parts = {}
        for name, (batch, places) in trees.items():
            parts[name] = np.zeros(len(places))
            if self.tree_weight:
                values = self.tree_weight * self._values(name, batch, places)
                parts[name] = np.asarray((values * self.weights_).sum(axis=1))
        return parts

    def _values(self, name: str, batch: Trees, places: Rows) -> FloatArray:
        known = getattr(self, "_batches", {}).get(name)
        if known is not None and known[0] is batch:
            gram = self._kernel(name).gram(batch)
            return np.asarray(gram[np.ix_(places, self._support[name])])
        used, back = np.unique(places, return_inverse=True)
        return self._kernel(name).between(batch.take(used), self.support_trees_[name])[back]


def _trees(X: Any) -> dict[str, tuple[Trees, Rows]]:
    names = tree_names(X) if isinstance(X, pd.DataFrame) else []
    return {name: gathered(X[name].tolist()) for name in names}


def _batch(batch: Trees, places: Rows) -> tuple[Trees, Rows]:
    used, back = np.unique(places, return_inverse=True)
    return (batch, places) if 3 * len(used) >= len(batch) else (batch.take(used), back.astype(np.int64))


class SvrTreeKernels(Learner):
    """Support vector regression on features and parses; see TreeKernelSvr. Deterministic."""

    regressor = TreeKernelSvr
    space: ClassVar[Mapping[str, Distribution]] = {
        "tree_weight": Choice([0.0, 0.03, 0.05]),
        "degree": IntRange(2, 3),
        "C": FloatRange(1.0, 64.0, log=True),
        "epsilon": FloatRange(0.02, 0.5, log=True),
    }
    scale = False
    takes_trees = True
    trusted_types: ClassVar[tuple[str, ...]] = (
        "qe.learning.tree_columns.BesideTrees",
        "features.syntax.trees.Trees",
    )
