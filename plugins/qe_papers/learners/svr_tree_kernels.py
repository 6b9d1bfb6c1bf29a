"""Tree kernels, and support vector regression with one on parses and a polynomial one on features."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.svm import SVR
from sklearn.utils.validation import check_is_fitted

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative, Part, Positive
from features.basics.threads import apply_to_each, even_ranges
from features.core.tree_columns import tree_names, without_trees
from features.syntax.trees import Trees, gathered
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data

_ALONE = -1  # key of a node without shared fragments


@dataclass(frozen=True)
class TreeKernel(ABC):
    """K(a, b) = sum over pairs of nodes of Delta, which is 0 for nodes of different kinds.

    Normalised: K(a, b) / sqrt(K(a, a) K(b, b)), 1 for equal trees; 0 for a tree without fragments. A value is
    symmetric and depends on its two trees only, to the last bit. Rows are computed on all cores, and cached
    with the batch.
    """

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise InputError(f"'{name}' of a tree kernel must be more than 0, but is {value}")

    @abstractmethod
    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Kind (m,) of each node, -1 for one without shared fragments; description of each kind."""

    @property
    @abstractmethod
    def decays(self) -> tuple[bool, float, float]:
        """Whether fragments may have part of a node's children, lambda, mu."""

    def gram(self, trees: Trees) -> FloatArray:
        """Normalised values (n, n) between the trees of a batch, read-only."""
        return trees.cached((self, "gram"), lambda: self._gram(trees))

    def between(self, rows: Trees, columns: Trees) -> FloatArray:
        """Normalised values (n, k) of n trees with k others."""
        numbers: dict[Hashable, int] = columns.cached(
            (type(self), "numbers"), lambda: {kind: i for i, kind in enumerate(self.kinds(columns)[1])}
        )
        own, kinds = self.kinds(rows)
        known = np.array([*(numbers.get(kind, _ALONE) for kind in kinds), _ALONE], np.int64)
        trees_a, trees_b = _sorted(rows, known[own]), self._sorted_nodes(columns)
        values = np.zeros((len(rows), len(columns)))

        def fill(start: int, end: int) -> None:
            _rectangle(trees_a, trees_b, self.decays, start, end, values)

        apply_to_each(fill, *zip(*even_ranges(rows.sizes + 1.0), strict=True))
        return _normalised(values, self.own_values(rows), self.own_values(columns))

    def own_values(self, trees: Trees) -> FloatArray:
        """K(a, a) (n,), not normalised; raises InputError for a tree whose value is too large."""
        return trees.cached((self, "own values"), lambda: self._own_values(trees))

    def _sorted_nodes(self, trees: Trees) -> "_Sorted":
        return trees.cached(
            (type(self), "sorted"), lambda: _sorted(trees, self.kinds(trees)[0].astype(np.int64))
        )

    def _gram(self, trees: Trees) -> FloatArray:
        own, prepared = self.own_values(trees), self._sorted_nodes(trees)
        values = np.diag(own)
        later = np.cumsum(trees.sizes[::-1])[::-1]  # nodes of a tree and of those after it

        def fill(start: int, end: int) -> None:
            _triangle(prepared, self.decays, start, end, values)

        apply_to_each(fill, *zip(*even_ranges((trees.sizes + 1.0) * later, per_core=16), strict=True))
        values = _normalised(values, own, own)
        values.setflags(write=False)
        return values

    def _own_values(self, trees: Trees) -> FloatArray:
        values, prepared = np.zeros(len(trees)), self._sorted_nodes(trees)

        def fill(start: int, end: int) -> None:
            _diagonal(prepared, self.decays, start, end, values)

        apply_to_each(fill, *zip(*even_ranges(trees.sizes**2 + 1.0), strict=True))
        with np.errstate(over="ignore"):
            too_large = np.flatnonzero(~np.isfinite(values**2))
        if len(too_large):
            row = int(too_large[0])
            raise InputError(
                f"a tree of {trees.sizes[row]} nodes shares more fragments with itself than can be counted: "
                f"{trees.brackets(row)[:60]} ...",
                remedy="give the kernel a smaller decay (lambda)",
            )
        return values


@dataclass(frozen=True)
class SubsetTreeKernel(TreeKernel):
    """Fragments have all children of a node or none, which respects the grammar's productions.

    Delta = 0 for nodes with different productions (their label and their children's); else lambda prod_j (1 +
    Delta(child j, child j)), which is lambda for equal preterminals.

    decay  lambda, more than 0

    Source: Collins and Duffy 2001; node pairs by sorted productions: Moschitti 2006, Section 3.2.
    """

    decay: float = 0.4

    @property
    def decays(self) -> tuple[bool, float, float]:
        return False, self.decay, 1.0

    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Productions: a label and those of its children."""
        labels, inner = trees.labels.tolist(), np.flatnonzero(trees.arities)
        first = trees.first_child[inner].tolist()
        last = (trees.first_child + trees.arities)[inner].tolist()
        index: dict[tuple[int, ...], int] = {}
        kinds = np.full(len(labels), _ALONE, np.int64)
        kinds[inner] = [
            index.setdefault((labels[node], *labels[start:end]), len(index))
            for node, start, end in zip(inner.tolist(), first, last, strict=True)
        ]
        return kinds, [tuple(trees.types[k] for k in production) for production in index]


@dataclass(frozen=True)
class PartialTreeKernel(TreeKernel):
    """Fragments have any of a node's children, in order.

    Delta = 0 for nodes with different labels; else mu (lambda^2 + sum over equally long subsequences J, J' of
    the two nodes' children of lambda^(d(J) + d(J')) times the product of Delta over their members), with d(J)
    = last - first + 1.

    decay        lambda, more than 0: weight of long and broken sequences of children
    depth_decay  mu, more than 0: weight of deep fragments

    Source: Moschitti 2006, Section 3.1, Equation 2.
    """

    decay: float = 0.4
    depth_decay: float = 0.4

    @property
    def decays(self) -> tuple[bool, float, float]:
        return True, self.decay, self.depth_decay

    def kinds(self, trees: Trees) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        return trees.labels.astype(np.int64), trees.types


_Sorted = tuple[
    NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64],
    NDArray[np.int64],
]  # fmt: skip
"""A batch: tree offsets, tree keys, first children, numbers of children, kinds of nodes, and the nodes of
each tree sorted by kind."""


_Decays = tuple[bool, float, float]
_Room = tuple[FloatArray, NDArray[np.int64], FloatArray]
"""Delta of two trees' nodes (all 0), the ranges of equal kinds, one row of a recursion over children."""


def _sorted(trees: Trees, kinds: NDArray[np.int64]) -> _Sorted:
    tree = np.repeat(np.arange(len(trees)), trees.sizes)
    order = np.lexsort((np.arange(len(kinds)), kinds, tree))
    return trees.offsets, trees.keys, trees.first_child, trees.arities, kinds, order


def _normalised(values: FloatArray, trees_a: FloatArray, trees_b: FloatArray) -> FloatArray:
    norms = np.sqrt(trees_a[:, np.newaxis] * trees_b[np.newaxis])
    return np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)


@numba.njit(cache=True, nogil=True)
def _diagonal(trees: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray) -> None:
    room = _room(trees, trees)
    for i in range(start, end):
        values[i] = _value(trees, i, trees, i, decays, room)


@numba.njit(cache=True, nogil=True)
def _triangle(trees: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray) -> None:
    room = _room(trees, trees)
    for i in range(start, end):
        for j in range(i + 1, len(values)):
            values[i, j] = values[j, i] = _value(trees, i, trees, j, decays, room)


@numba.njit(cache=True, nogil=True)
def _rectangle(
    trees_a: _Sorted, trees_b: _Sorted, decays: _Decays, start: int, end: int, values: FloatArray
) -> None:
    room = _room(trees_a, trees_b)
    for i in range(start, end):
        for j in range(values.shape[1]):
            values[i, j] = _value(trees_a, i, trees_b, j, decays, room)


@numba.njit(cache=True, nogil=True)
def _room(trees_a: _Sorted, trees_b: _Sorted) -> _Room:
    largest = 0
    for offsets in (trees_a[0], trees_b[0]):
        for i in range(len(offsets) - 1):
            largest = max(largest, offsets[i + 1] - offsets[i])
    return np.zeros((largest, largest)), np.zeros((largest, 2), np.int64), np.zeros(largest + 1)


@numba.njit(cache=True, nogil=True)
def _value(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, decays: _Decays, room: _Room) -> float:
    if trees_b[1][j] < trees_a[1][i]:
        trees_a, i, trees_b, j = trees_b, j, trees_a, i
    value: float = _ordered(trees_a, i, trees_b, j, decays, room)
    return value


@numba.njit(cache=True, nogil=True)
def _ordered(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, decays: _Decays, room: _Room) -> float:
    start, end, base = trees_a[0][i], trees_a[0][i + 1], trees_b[0][j]
    first_left, first_right, arities_left, arities_right = trees_a[2], trees_b[2], trees_a[3], trees_b[3]
    order = trees_b[5]
    partial, decay, depth_decay = decays
    delta, ranges, row = room
    _match(trees_a, i, trees_b, j, ranges)
    total = 0.0
    # Children follow their node, so that their values are computed before it.
    for a in range(end - 1, start - 1, -1):
        for place in range(ranges[a - start, 0], ranges[a - start, 1]):
            b = order[place]
            first_child, second_child = first_left[a] - start, first_right[b] - base
            if partial:
                value = depth_decay * decay**2
                if arities_left[a] > 0 and arities_right[b] > 0:
                    value += depth_decay * _subsequences(
                        delta, first_child, arities_left[a], second_child, arities_right[b], decay, row
                    )
            else:
                value = decay
                for c in range(arities_left[a]):
                    value *= 1.0 + delta[first_child + c, second_child + c]
            delta[a - start, b - base] = value
            total += value
    for a in range(start, end):
        for place in range(ranges[a - start, 0], ranges[a - start, 1]):
            delta[a - start, order[place] - base] = 0.0
    return total


@numba.njit(cache=True, nogil=True)
def _match(trees_a: _Sorted, i: int, trees_b: _Sorted, j: int, ranges: NDArray[np.int64]) -> None:
    start, right_end = trees_b[0][j], trees_b[0][j + 1]
    end = start
    kinds, order, right_kinds, right_order = trees_a[4], trees_a[5], trees_b[4], trees_b[5]
    first = trees_a[0][i]
    for place in range(first, trees_a[0][i + 1]):
        a = order[place]
        kind = kinds[a]
        if place == first or kind != kinds[order[place - 1]]:
            start = end
            while start < right_end and right_kinds[right_order[start]] < kind:
                start += 1
            end = start
            while end < right_end and right_kinds[right_order[end]] == kind:
                end += 1
        ranges[a - first, 0] = start
        ranges[a - first, 1] = end if kind >= 0 else start


@numba.njit(cache=True, nogil=True)
def _subsequences(
    delta: FloatArray, first_child: int, n: int, second_child: int, k: int, decay: float, row: FloatArray
) -> float:
    total = 0.0
    row[: k + 1] = 0.0
    for x in range(n):
        before = 0.0  # D(x - 1, y - 1)
        along = 0.0  # sum over y' <= y of decay^(y - y') S(x, y')
        for y in range(k):
            ending = delta[first_child + x, second_child + y] * decay**2 * (1.0 + before)
            total += ending
            along = ending + decay * along
            before = row[y + 1]
            row[y + 1] = along + decay * before
    return total


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

    def _tree_parts(self, trees: Mapping[str, tuple[Trees, IntArray]]) -> dict[str, FloatArray]:
        parts = {}
        for name, (batch, places) in trees.items():
            parts[name] = np.zeros(len(places))
            if self.tree_weight:
                values = self.tree_weight * self._values(name, batch, places)
                parts[name] = np.asarray((values * self.weights_).sum(axis=1))
        return parts

    def _values(self, name: str, batch: Trees, places: IntArray) -> FloatArray:
        known = getattr(self, "_batches", {}).get(name)
        if known is not None and known[0] is batch:
            gram = self._kernel(name).gram(batch)
            return np.asarray(gram[np.ix_(places, self._support[name])])
        used, back = np.unique(places, return_inverse=True)
        return self._kernel(name).between(batch.take(used), self.support_trees_[name])[back]


def _trees(X: Any) -> dict[str, tuple[Trees, IntArray]]:
    names = tree_names(X) if isinstance(X, pd.DataFrame) else []
    return {name: gathered(X[name].tolist()) for name in names}


def _batch(batch: Trees, places: IntArray) -> tuple[Trees, IntArray]:
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
