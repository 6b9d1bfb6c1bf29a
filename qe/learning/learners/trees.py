"""Random forests and extremely randomised trees, stored as flat arrays without compiled objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numba
import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Part, Seed, Threads
from features.storage.damage import Damaged, damage_reported, typed, within
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import relative_weights, rows_to_predict, training_data


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """Concatenated trees: node arrays, and the index of each tree's root.

    links     (nodes, 3) feature (-1 at leaves), left child, right child
    threshold (nodes,) x <= threshold goes left
    values    (nodes, c) predictions at leaves
    """

    links: NDArray[np.int64]
    threshold: FloatArray
    values: FloatArray
    roots: NDArray[np.int64]

    @classmethod
    def from_forest(cls, trees: list[Any]) -> Self:
        parts = [tree.tree_ for tree in trees]
        sizes = [part.node_count for part in parts]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        links = [
            np.stack(
                [np.where(p.feature < 0, -1, p.feature), p.children_left + r, p.children_right + r], axis=1
            )
            for p, r in zip(parts, roots, strict=True)
        ]
        return cls(
            np.concatenate(links).astype(np.int64),
            np.concatenate([part.threshold for part in parts]),
            np.concatenate([part.value[:, 0, :] for part in parts]),
            roots,
        )

    def check_arrays(self, width: int) -> None:
        """Raises Damaged if a link is out of range or points backwards, or a feature is not below `width`."""
        nodes = len(self.threshold)
        typed("links", self.links, np.int64, nodes, 3)
        typed("threshold", self.threshold, np.float64, nodes)
        typed("values", self.values, np.float64, nodes, None)
        typed("roots", self.roots, np.int64, None)
        within("roots", self.roots, 0, nodes)
        within("features", self.links[:, 0], -1, width)
        inner = self.links[:, 0] >= 0
        children = self.links[inner, 1:]
        within("links", children, 0, nodes)
        if not len(self.roots) or (children <= np.flatnonzero(inner)[:, None]).any():
            raise Damaged("a link of the trees leads backwards")

    def mean(self, X: FloatArray) -> FloatArray:
        """Leaf values (n, c) averaged over the trees; raises InputError for links of a damaged model file."""
        with damage_reported("a forest", Path("the model"), "restore it from a copy, or train it again"):
            self.check_arrays(X.shape[1])
        # scikit-learn compares features in single precision.
        rounded = np.ascontiguousarray(X.astype(np.float32).astype(np.float64))
        total = np.zeros((len(X), self.values.shape[1]))
        _add_leaves(rounded, self.links, self.threshold, self.values, self.roots, total)
        return np.asarray(total / len(self.roots))


@numba.njit(cache=True, nogil=True)
def _add_leaves(X: Any, links: Any, threshold: Any, values: Any, roots: Any, total: Any) -> None:
    for root in roots:
        for i in range(len(X)):
            node = root
            while links[node, 0] >= 0:
                goes_right = X[i, links[node, 0]] > threshold[node]
                node = links[node, 2] if goes_right else links[node, 1]
            for c in range(values.shape[1]):
                total[i, c] += values[node, c]


@dataclass(eq=False, repr=False)
class ForestRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Random forest (`bootstrap`) or extremely randomised trees (`random_thresholds`).

    The other parameters are scikit-learn's. After fit: flat node arrays, `links_`, `threshold_`, `values_`,
    `roots_`, and `feature_importances_`.
    """

    random_thresholds: bool = False
    n_estimators: Count = 100
    max_features: Part | Count | Literal["sqrt", "log2"] | None = 0.33
    min_samples_leaf: Count | Annotated[float, Gt(0), Lt(1)] = 3
    max_depth: Count | None = None
    max_leaf_nodes: Annotated[int, Ge(2)] | None = None
    criterion: Literal["squared_error", "absolute_error", "friedman_mse", "poisson"] = "squared_error"
    bootstrap: bool = True
    max_samples: Part | Count | None = None
    n_jobs: Threads = 1
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        # Equal weights and None draw different bootstrap samples in scikit-learn.
        weights = None if sample_weight is None else relative_weights(sample_weight, len(y))
        kind = ExtraTreesRegressor if self.random_thresholds else RandomForestRegressor
        own = ("random_thresholds", "seed")
        params = {name: value for name, value in self.get_params().items() if name not in own}
        forest = kind(**params, random_state=self.seed).fit(X, y, weights)
        trees = FlatTrees.from_forest(forest.estimators_)
        self.links_, self.threshold_, self.values_, self.roots_ = (
            trees.links, trees.threshold, trees.values, trees.roots,
        )  # fmt: skip
        self.feature_importances_ = np.asarray(forest.feature_importances_)
        return self

    def check_arrays(self) -> None:
        self._trees.check_arrays(self.n_features_in_)

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return self._trees.mean(rows)[:, 0]

    @property
    def _trees(self) -> FlatTrees:
        return FlatTrees(self.links_, self.threshold_, self.values_, self.roots_)


@LEARNERS.register("random_forest")
class RandomForest(Learner):
    """Mean of trees grown on bootstrap samples; each split considers a random share of the features.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Breiman 2001; WMT12 LIMSI.
    """

    regressor = ForestRegressor
    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(100, 500, step=100),
        "max_features": FloatRange(0.05, 1.0, log=True),
        "min_samples_leaf": IntRange(1, 30, log=True),
    }
    scale: ClassVar[bool] = False


@LEARNERS.register("extra_trees")
class ExtraTrees(RandomForest):
    """Mean of trees grown on all segments, with random thresholds.

    Parameters: those of ForestRegressor. Deterministic for one `seed`. Source: Geurts et al. 2006.
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        "random_thresholds": True,
        "bootstrap": False,
        "max_features": 0.5,
    }
