"""M5' model trees as a scikit-learn regressor; the fitted tree is a set of flat arrays."""

from dataclasses import dataclass, field
from typing import Any, Self

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from features.core.array_types import FloatArray
from features.core.arrays import typed, within
from features.core.damage import Damaged
from features.core.hints import Count, NotNegative
from qe.learners._checks import rows_to_predict, training_data
from qe.learners._elimination import LinearModel, fit_by_elimination

_DEVIATION_FRACTION = 0.05  # of the deviation of all labels: a node below it is not split
_TIE = 1e-6  # a later attribute must beat an earlier one by this share of the root's impurity
_SMALLEST_SPLIT = 4
_CAUTION = 10.0  # error factor where a node has fewer segments than its model has parameters


class M5PRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Model tree: binary splits on one feature, a linear model in every leaf.

    A node is split where the fifth root of the label variance falls most, each side keeping at least a fifth
    of the segments. Every inner node gets a linear model on the features tested below it (with attribute
    elimination), and replaces its subtree where its penalised error is no larger. Leaf models are smoothed
    with those of their ancestors.

    min_instances        a node with fewer segments is not split (Weka's -M)
    pruning              False keeps the full tree, whose leaves are constants (-N)
    smoothing            False: the leaf's own model answers (-U)
    regression_tree      constants instead of linear models (-R)
    pruning_factor       penalty per parameter in (n + factor p) / (n - p)
    smoothing_constant   weight of an ancestor's model, in segments

    After fit: `feature_` (-1 at leaves), `threshold_`, `left_`, `right_`, `n_segments_`, `error_` (root mean
    squared, on the training data, unsmoothed), `coefficients_` (nodes, k), `intercept_`; node 0 is the root,
    children follow in preorder. Predictions are not clipped to the scale.

    Source: Quinlan 1992; Wang and Witten 1997; constants where the paper is silent as in Weka 3.9.
    """

    def __init__(
        self,
        min_instances: Count = 4,
        pruning: bool = True,
        smoothing: bool = True,
        regression_tree: bool = False,
        pruning_factor: NotNegative = 2.0,
        smoothing_constant: NotNegative = 15.0,
    ) -> None:
        self.min_instances = min_instances
        self.pruning = pruning
        self.smoothing = smoothing
        self.regression_tree = regression_tree
        self.pruning_factor = pruning_factor
        self.smoothing_constant = smoothing_constant

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.label_deviation_ = float(y.std())
        root = _Grower(X, y, max(self.min_instances, _SMALLEST_SPLIT), self.label_deviation_).grow()
        self._install_models(root, X, y)
        self._flatten(root)
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        leaf = self.apply(X)
        answer: FloatArray = (X * self.coefficients_[leaf]).sum(axis=1) + self.intercept_[leaf]
        return answer

    def check_arrays(self) -> None:
        """Raises Damaged if a child comes before its node, or a node asks for an unknown feature."""
        nodes, width = len(self.feature_), self.n_features_in_
        for name in ("feature_", "left_", "right_"):
            typed(name, getattr(self, name), np.int64, nodes)
        for name in ("threshold_", "intercept_"):
            typed(name, getattr(self, name), np.float64, nodes)
        typed("coefficients_", self.coefficients_, np.float64, nodes, width)
        within("feature_", self.feature_, -1, width)
        inner = np.flatnonzero(self.feature_ >= 0)
        for children in (self.left_[inner], self.right_[inner]):
            within("children", children, 1, nodes)
            if (children <= inner).any():
                raise Damaged("a link of the tree leads backwards")

    def apply(self, X: FloatArray) -> NDArray[np.int64]:
        """(n,) the leaf that each row falls into."""
        node = np.zeros(len(X), np.int64)
        while (inner := self.feature_[node] >= 0).any():
            at, rows = node[inner], np.flatnonzero(inner)
            goes_left = X[rows, self.feature_[at]] <= self.threshold_[at]
            node[rows] = np.where(goes_left, self.left_[at], self.right_[at])
        return node

    @property
    def n_leaves_(self) -> int:
        """Number of leaves, which is the number of linear equations."""
        return int((self.feature_ < 0).sum())

    def describe(self, feature_names: list[str] | None = None, label: str = "score") -> str:
        """The tree and its leaves' equations, as text; names default to those seen in fit, or x0, x1, ..."""
        check_is_fitted(self)
        names = feature_names or list(
            getattr(self, "feature_names_in_", (f"x{j}" for j in range(self.n_features_in_)))
        )
        leaves = {int(node): number for number, node in enumerate(np.flatnonzero(self.feature_ < 0), start=1)}
        kind = "regression" if self.regression_tree else "model"
        lines = [f"M5 {'pruned' if self.pruning else 'unpruned'} {kind} tree, leaves: {len(leaves)}"]
        if self.smoothing:
            lines.append("(smoothed linear models)")
        lines += ["", *self._tree_lines(0, 0, names, leaves), ""]
        lines += [f"LM{number}: {label} = {self._equation(node, names)}" for node, number in leaves.items()]
        return "\n".join(lines) + "\n"

    def _tree_lines(self, node: int, depth: int, names: list[str], leaves: dict[int, int]) -> list[str]:
        indent = "|   " * depth
        if node in leaves:
            return [f"{indent}{self._leaf_label(node, leaves)}"]
        lines = []
        for relation, child in (("<=", int(self.left_[node])), ("> ", int(self.right_[node]))):
            test = f"{indent}{names[self.feature_[node]]} {relation} {self.threshold_[node]:.6g} :"
            if child in leaves:
                lines.append(f"{test} {self._leaf_label(child, leaves)}")
            else:
                lines += [test, *self._tree_lines(child, depth + 1, names, leaves)]
        return lines

    def _leaf_label(self, node: int, leaves: dict[int, int]) -> str:
        share = 100 * self.error_[node] / self.label_deviation_ if self.label_deviation_ > 0 else 0.0
        return f"LM{leaves[node]} ({self.n_segments_[node]} segments, error {share:.1f} % of the deviation)"

    def _equation(self, node: int, names: list[str]) -> str:
        terms = [
            f"{'-' if value < 0 else '+'} {abs(value):.4g} * {names[j]}"
            for j, value in enumerate(self.coefficients_[node])
            if value != 0
        ]
        return " ".join([f"{self.intercept_[node]:.4g}", *terms])

    def _install_models(self, node: "_Node", X: FloatArray, y: FloatArray) -> None:
        """Bottom-up: a model for every node; with pruning, subtrees that do not pay become leaves."""
        for child in node.children:
            self._install_models(child, X, y)
        wanted = np.asarray([] if self.regression_tree else sorted(node.tested), np.int64)
        node.model = fit_by_elimination(X, y, wanted, node.rows)
        errors = y[node.rows] - node.model.predict(X[node.rows])
        node.parameters, node.squared_error = len(node.model.coefficients) + 1, float((errors**2).sum())
        if node.children:
            self._prune(node)

    def _prune(self, node: "_Node") -> None:
        n = len(node.rows)
        subtree_error = sum(child.squared_error for child in node.children)
        subtree_parameters = sum(child.parameters for child in node.children) + 1
        as_leaf = np.sqrt(node.squared_error / n) * self._penalty(n, node.parameters)
        as_tree = np.sqrt(subtree_error / n) * self._penalty(n, subtree_parameters)
        if self.pruning and (as_leaf <= as_tree or as_leaf < 1e-5 * self.label_deviation_):
            node.children, node.feature = (), -1
        else:
            node.squared_error, node.parameters = subtree_error, subtree_parameters

    def _penalty(self, n: int, parameters: int) -> float:
        return _CAUTION if n <= parameters else (n + self.pruning_factor * parameters) / (n - parameters)

    def _flatten(self, root: "_Node") -> None:
        nodes = root.preorder()
        index = {id(node): i for i, node in enumerate(nodes)}
        self.feature_ = np.asarray([node.feature for node in nodes], np.int64)
        self.threshold_ = np.asarray([node.threshold for node in nodes], np.float64)
        sides = [[index[id(child)] for child in node.children] or [-1, -1] for node in nodes]
        self.left_, self.right_ = np.asarray(sides, np.int64).T.copy()
        self.n_segments_ = np.asarray([len(node.rows) for node in nodes], np.int64)
        self.error_ = np.sqrt([node.squared_error / len(node.rows) for node in nodes])
        self.coefficients_ = np.zeros((len(nodes), self.n_features_in_))
        self.intercept_ = np.asarray([node.model.intercept for node in nodes])
        for i, node in enumerate(nodes):
            self.coefficients_[i, node.model.attributes] = node.model.coefficients
        if self.smoothing:
            self._smooth()

    def _smooth(self) -> None:
        """Mixes each leaf's equation with its ancestors', the nearest first: (n p + k q) / (n + k)."""
        parent = np.full(len(self.feature_), -1)
        inner = np.flatnonzero(self.feature_ >= 0)
        parent[self.left_[inner]] = parent[self.right_[inner]] = inner
        for leaf in np.flatnonzero(self.feature_ < 0):
            node = int(leaf)
            while (above := int(parent[node])) >= 0:
                n, k = float(self.n_segments_[node]), self.smoothing_constant
                mixed = n * self.coefficients_[leaf] + k * self.coefficients_[above]
                self.coefficients_[leaf] = mixed / (n + k)
                self.intercept_[leaf] = (n * self.intercept_[leaf] + k * self.intercept_[above]) / (n + k)
                node = above


@dataclass(eq=False)
class _Node:
    """A node while the tree grows: its segments, and the features tested here or below before pruning."""

    rows: NDArray[np.int64]
    tested: frozenset[int] = frozenset()
    feature: int = -1
    threshold: float = np.nan
    children: "tuple[_Node, ...]" = ()
    model: LinearModel = field(init=False)
    parameters: int = 1
    squared_error: float = 0.0

    def preorder(self) -> "list[_Node]":
        return [self, *(node for child in self.children for node in child.preorder())]


class _Grower:
    """Grows the full tree; `order` holds, per feature, the rows sorted by it, a node being one slice."""

    def __init__(self, X: FloatArray, y: FloatArray, min_instances: int, deviation: float) -> None:
        self.columns = np.ascontiguousarray(X.T)
        self.y = y - y.mean()
        self.order = np.argsort(self.columns, axis=1, kind="stable")
        self.min_instances = min_instances
        self.least_deviation = _DEVIATION_FRACTION * deviation
        self.tie = _TIE * float(deviation**0.4)

    def grow(self) -> _Node:
        return self._grow(0, len(self.y))

    def _grow(self, start: int, end: int) -> _Node:
        rows = np.sort(self.order[0, start:end])
        node = _Node(rows)
        if len(rows) < self.min_instances or _spread(self.y, rows) < self.least_deviation:
            return node
        feature, position, threshold = _best_split(self.columns, self.y, self.order, start, end, self.tie)
        if feature < 0:
            return node
        node.feature, node.threshold = int(feature), float(threshold)
        _partition(self.columns[feature], threshold, self.order, start, end)
        middle = start + int(position)
        node.children = (self._grow(start, middle), self._grow(middle, end))
        node.tested = frozenset({node.feature}).union(*(child.tested for child in node.children))
        return node


@numba.njit(cache=True, nogil=True)
def _spread(y: FloatArray, rows: NDArray[np.int64]) -> float:
    """Standard deviation of the labels of some rows."""
    return y[rows].std()  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)
def _best_split(
    columns: FloatArray, y: FloatArray, order: NDArray[np.int64], start: int, end: int, tie: float
) -> tuple[int, int, float]:
    """(feature, segments on the left, threshold) of the largest impurity reduction; feature -1: none."""
    n = end - start
    aside = max(n // 5, 1)
    best_feature, best_left, best_threshold, best = -1, 0, 0.0, -np.inf
    total = squares = 0.0
    for i in range(start, end):
        value = y[order[0, i]]
        total += value
        squares += value * value
    for feature in range(len(columns)):
        left, reduction = _best_position(
            columns[feature], y, order[feature, start:end], aside, total, squares
        )
        if left > 0 and reduction > best + tie:
            low = columns[feature, order[feature, start + left - 1]]
            high = columns[feature, order[feature, start + left]]
            threshold = (low + high) * 0.5
            # Neighbouring floats have no midpoint: the lower value then is the threshold.
            best_threshold = threshold if threshold < high else low
            best_feature, best_left, best = feature, left, reduction
    return best_feature, best_left, best_threshold


@numba.njit(cache=True, nogil=True)
def _best_position(
    column: FloatArray, y: FloatArray, rows: NDArray[np.int64], aside: int, total: float, squares: float
) -> tuple[int, float]:
    """(segments on the left, impurity reduction) of one feature's best split; 0 segments: none.

    Impurity is the fifth root of the variance, and at least aside + 1 segments stay on each side.
    """
    n = len(rows)
    best_left, best = 0, -np.inf
    left_sum = left_squares = 0.0
    for i in range(n - aside - 1):
        value = y[rows[i]]
        left_sum += value
        left_squares += value * value
        if i >= aside and column[rows[i]] < column[rows[i + 1]]:
            left = i + 1
            reduction = -left * _impurity(left, left_sum, left_squares)
            reduction -= (n - left) * _impurity(n - left, total - left_sum, squares - left_squares)
            if reduction > best:
                best_left, best = left, reduction
    return best_left, best / n + _impurity(n, total, squares)


@numba.njit(cache=True, nogil=True)
def _impurity(n: int, total: float, squares: float) -> float:
    return abs(squares / n - (total / n) ** 2) ** 0.2  # type: ignore[no-any-return]


@numba.njit(cache=True, nogil=True)
def _partition(column: FloatArray, threshold: float, order: NDArray[np.int64], start: int, end: int) -> None:
    """Moves the rows at or below the threshold to the front of every feature's slice, keeping the order."""
    right = np.empty(end - start, np.int64)
    for feature in range(len(order)):
        rows = order[feature]
        to, waiting = start, 0
        for i in range(start, end):
            row = rows[i]
            if column[row] <= threshold:
                rows[to] = row
                to += 1
            else:
                right[waiting] = row
                waiting += 1
        rows[to:end] = right[:waiting]
