"""M5' model trees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from features.basics.array_types import FloatArray
from features.basics.hints import Count, NotNegative
from features.storage.damage import Damaged, typed, within
from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.display.numbers import general, percent
from qe.learning.elimination import fit_by_elimination
from qe.learning.learner import Regressor
from qe.learning.learners.checks import rows_to_predict, training_data

Longs = NDArray[np.int64]

_DEVIATION_FRACTION = 0.05  # share of all labels' deviation below which a node is not split
_TIE = 1e-6  # a later attribute must beat an earlier one by this share of the root's impurity
_SMALLEST_SPLIT = 4
_CAUTION = 10.0  # error factor if a node has fewer segments than its model has parameters


@dataclass(eq=False, repr=False)
class M5PRegressor(Regressor):
    """Model tree: binary splits on one feature, and a linear model in every leaf.

    A split maximises the decrease of the fifth root of the label variance, with at least a fifth of the
    segments on each side. Every inner node gets a linear model on the features tested below it (with
    attribute elimination), which replaces the subtree if its penalised error is not larger. Leaf models are
    smoothed with those of their ancestors.

    Parameters
    ----------
    min_instances : int, default=4
        A node with fewer segments is not split (Weka's -M).
    pruning : bool, default=True
        False keeps the full tree with constant leaves (-N).
    smoothing : bool, default=True
        False uses the leaf's model alone (-U).
    regression_tree : bool, default=False
        Constants instead of linear models (-R).
    pruning_factor : float, default=2.0
        Penalty per parameter in (n + factor p) / (n - p).
    smoothing_constant : float, default=15.0
        Weight of an ancestor's model, in segments.

    After fit: `feature_` (-1 at leaves), `threshold_`, `left_`, `right_`, `n_segments_`, `error_` (root mean
    squared, on the training data, unsmoothed), `coefficients_` (nodes, k), `intercept_`; node 0 is the root,
    children follow in preorder. Predictions are not clipped to the scale.

    Features are not scaled, so that the equations (`.describe(names)`) are in their units. Source: Quinlan
    1992; Wang and Witten 1997; the learner of WMT12 SDLLW, TCD and of Soricut and Narsale; constants that
    the paper omits are those of Weka 3.9.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "min_instances": IntRange(4, 200, log=True),
        "smoothing": Choice([True, False]),
        "pruning_factor": FloatRange(0.5, 8.0, log=True),
    }
    scale: ClassVar[bool] = False

    min_instances: Count = 4
    pruning: bool = True
    smoothing: bool = True
    regression_tree: bool = False
    pruning_factor: NotNegative = 2.0
    smoothing_constant: NotNegative = 15.0

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.label_deviation_ = float(y.std())
        columns = np.ascontiguousarray(X.T)
        order = np.argsort(columns, axis=1, kind="stable")
        least = _DEVIATION_FRACTION * self.label_deviation_
        tie = _TIE * float(self.label_deviation_**0.4)
        smallest = max(self.min_instances, _SMALLEST_SPLIT)
        tree = _Tree(*_grow(columns, y - y.mean(), order, smallest, least, tie))
        options = self.regression_tree, self.pruning, float(self.pruning_factor), self.label_deviation_
        self._flatten(tree, *_modelled(X, y, tree, *options))
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        leaf = self.apply(X)
        answer: FloatArray = (X * self.coefficients_[leaf]).sum(axis=1) + self.intercept_[leaf]
        return answer

    def check_arrays(self) -> None:
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

    def apply(self, X: FloatArray) -> Longs:
        """Leaf (n,) of each row."""
        node = np.zeros(len(X), np.int64)
        while (inner := self.feature_[node] >= 0).any():
            at, rows = node[inner], np.flatnonzero(inner)
            goes_left = X[rows, self.feature_[at]] <= self.threshold_[at]
            node[rows] = np.where(goes_left, self.left_[at], self.right_[at])
        return node

    @property
    def n_leaves_(self) -> int:
        return int((self.feature_ < 0).sum())

    def describe(self, feature_names: list[str] | None = None, label: str = "score") -> str:
        """The tree and its leaf equations as text; names default to those of fit, or x0, ..."""
        check_is_fitted(self)
        names = feature_names or list(
            getattr(self, "feature_names_in_", (f"x{j}" for j in range(self.n_features_in_)))
        )
        leaves = {int(node): number for number, node in enumerate(np.flatnonzero(self.feature_ < 0), start=1)}
        kind = "regression" if self.regression_tree else "model"
        lines = [f"M5 {'pruned' if self.pruning else 'unpruned'} {kind} tree, leaves: {len(leaves)}"]
        if self.smoothing:
            lines.append("(smoothed linear models)")
        labels, equations = dict[int, str](), list[str]()
        for node, number in leaves.items():
            share = self.error_[node] / self.label_deviation_ if self.label_deviation_ > 0 else 0.0
            size = f"{self.n_segments_[node]} segments"
            labels[node] = f"LM{number} ({size}, error {percent(share)} of the deviation)"
            terms = [
                f"{'-' if value < 0 else '+'} {general(abs(value))} * {names[j]}"
                for j, value in enumerate(self.coefficients_[node])
                if value != 0
            ]
            equations.append(" ".join([f"LM{number}: {label} = {general(self.intercept_[node])}", *terms]))
        lines += ["", *self._tree_lines(0, 0, names, labels), "", *equations]
        return "\n".join(lines) + "\n"

    def _tree_lines(self, node: int, depth: int, names: list[str], labels: dict[int, str]) -> list[str]:
        indent = "|   " * depth
        if node in labels:
            return [f"{indent}{labels[node]}"]
        lines = []
        for relation, child in (("<=", int(self.left_[node])), ("> ", int(self.right_[node]))):
            test = f"{indent}{names[self.feature_[node]]} {relation} {general(self.threshold_[node], 6)} :"
            if child in labels:
                lines.append(f"{test} {labels[child]}")
            else:
                lines += [test, *self._tree_lines(child, depth + 1, names, labels)]
        return lines

    def _flatten(
        self, tree: "_Tree", coefficients: FloatArray, intercept: FloatArray, squared_error: FloatArray
    ) -> None:
        there = np.zeros(len(tree.feature), np.bool_)
        there[0] = True
        for node in np.flatnonzero(tree.feature >= 0):  # children follow their node
            there[[tree.left_child[node], tree.right_child[node]]] = there[node]
        numbers = np.append(np.cumsum(there) - 1, -1)  # the last entry is for the children of leaves
        self.feature_, self.threshold_ = tree.feature[there], tree.threshold[there]
        self.left_, self.right_ = numbers[tree.left_child[there]], numbers[tree.right_child[there]]
        self.n_segments_ = (tree.last - tree.first)[there]
        self.error_ = np.sqrt(squared_error[there] / self.n_segments_)
        self.coefficients_, self.intercept_ = coefficients[there], intercept[there]
        if self.smoothing:
            self._smooth()

    def _smooth(self) -> None:
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


class _Tree(NamedTuple):
    feature: Longs
    threshold: FloatArray
    left_child: Longs
    right_child: Longs
    first: Longs
    last: Longs
    order: Longs


@numba.njit(cache=True, nogil=True)
def _grow(
    columns: FloatArray, y: FloatArray, order: Longs, min_instances: int, least_deviation: float, tie: float
) -> tuple[Longs, FloatArray, Longs, Longs, Longs, Longs, Longs]:
    most = 2 * len(y) + 1
    feature, threshold = np.full(most, -1), np.full(most, np.nan)
    left, right = np.full(most, -1), np.full(most, -1)
    first, last = np.empty(most, np.int64), np.empty(most, np.int64)
    waiting = np.empty((most, 3), np.int64)  # first row, last row, parent node
    waiting[0] = 0, len(y), -1
    nodes, left_over = 0, 1
    while left_over:
        left_over -= 1
        start, end, above = waiting[left_over]
        node, nodes = nodes, nodes + 1
        first[node], last[node] = start, end
        if above >= 0 and left[above] < 0:
            left[above] = node
        elif above >= 0:
            right[above] = node
        rows = np.sort(order[0, start:end])
        if len(rows) < min_instances or y[rows].std() < least_deviation:
            continue
        found, position, value = _best_split(columns, y, order, start, end, tie)
        if found < 0:
            continue
        feature[node], threshold[node] = found, value
        _partition(columns[found], value, order, start, end)
        waiting[left_over] = start + position, end, node
        waiting[left_over + 1] = start, start + position, node
        left_over += 2
    return feature[:nodes], threshold[:nodes], left[:nodes], right[:nodes], first[:nodes], last[:nodes], order


@numba.njit(cache=True, nogil=True)
def _modelled(
    X: FloatArray,
    y: FloatArray,
    tree: _Tree,
    constants: bool,
    pruning: bool,
    factor: float,
    label_deviation: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    nodes = len(tree.feature)
    coefficients, intercept = np.zeros((nodes, X.shape[1])), np.zeros(nodes)
    squared_error, parameters = np.zeros(nodes), np.zeros(nodes, np.int64)
    tested = np.zeros((nodes, X.shape[1]), np.bool_)  # at the node or below, before pruning
    for node in range(nodes - 1, -1, -1):
        rows = np.sort(tree.order[0, tree.first[node] : tree.last[node]])
        n, inner, left, right = (
            len(rows),
            tree.feature[node] >= 0,
            tree.left_child[node],
            tree.right_child[node],
        )
        if inner:
            for k in range(tested.shape[1]):
                tested[node, k] = tested[left, k] or tested[right, k]
            tested[node, tree.feature[node]] = True
        wanted = np.flatnonzero(tested[node] & (not constants))
        attributes, slopes, intercept[node] = fit_by_elimination(X, y, wanted, rows)
        for row in rows:
            error = y[row] - intercept[node]
            for a in range(len(attributes)):
                error -= X[row, attributes[a]] * slopes[a]
            squared_error[node] += error * error
        coefficients[node][attributes] = slopes
        parameters[node] = len(slopes) + 1
        if not inner:
            continue
        below, sizes = squared_error[left] + squared_error[right], parameters[left] + parameters[right] + 1
        as_leaf = np.sqrt(squared_error[node] / n) * _penalty(n, parameters[node], factor)
        as_tree = np.sqrt(below / n) * _penalty(n, sizes, factor)
        if pruning and (as_leaf <= as_tree or as_leaf < 1e-5 * label_deviation):
            tree.feature[node], tree.left_child[node], tree.right_child[node] = -1, -1, -1
            tree.threshold[node] = np.nan
        else:
            squared_error[node], parameters[node] = below, sizes
    return coefficients, intercept, squared_error


@numba.njit(cache=True, nogil=True)
def _penalty(n: int, parameters: int, factor: float) -> float:
    return _CAUTION if n <= parameters else (n + factor * parameters) / (n - parameters)


@numba.njit(cache=True, nogil=True)
def _best_split(
    columns: FloatArray, y: FloatArray, order: Longs, start: int, end: int, tie: float
) -> tuple[int, int, float]:
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
            # Adjacent floats have no midpoint, so the lower value is the threshold.
            best_threshold = threshold if threshold < high else low
            best_feature, best_left, best = feature, left, reduction
    return best_feature, best_left, best_threshold


@numba.njit(cache=True, nogil=True)
def _best_position(
    column: FloatArray, y: FloatArray, rows: Longs, aside: int, total: float, squares: float
) -> tuple[int, float]:
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
def _partition(column: FloatArray, threshold: float, order: Longs, start: int, end: int) -> None:
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
        for i in range(waiting):
            rows[to + i] = right[i]
