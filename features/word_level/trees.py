"""Boosted trees for P(BAD), fitted by LightGBM and scored by compiled walks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from features.basics.errors import InputError
from features.storage.damage import REBUILD, Damaged
from features.word_level.columns import Floats
from features.word_level.labels import Bad

Matrix = NDArray[np.float32]
Ints = NDArray[np.int32]

_ROWS: Final = 8  # that walk together: while one waits for memory, others go on
_OBJECTIVES: Final = ("binary sigmoid:1", "cross_entropy")  # logistic of the sum, both
_DEFAULT_LEFT, _MISSING, _ZERO, _NAN = 2, 12, 4, 8  # bits of LightGBM's decision types


@dataclass(frozen=True, eq=False)
class TreeWalks:
    """Nodes of all trees, tree by tree. Node k's children are below[k] and below[k] + 1; a leaf's is itself.

    roots       (trees,) the first node of each tree
    depths      (trees,) splits above its deepest leaf
    column      (nodes,) feature of the split
    threshold   (nodes,) rows with at most that go to the first child; +inf of leaves
    nan_second  (nodes,) whether a row without a value goes to the second child
    value       (nodes,) of leaves; 0 of others
    """

    roots: Ints
    depths: Ints
    column: Ints
    threshold: Matrix
    nan_second: NDArray[np.bool_]
    below: Ints
    value: Floats
    width: int

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From LightGBM's text, checked by `check_trees`; raises Damaged for trees of other kinds."""
        head, *parts = text.partition("\nend of trees\n")[0].split("\nTree=")
        if dict(_entries(head)).get("objective") not in _OBJECTIVES or "average_output" in head.split("\n"):
            raise Damaged(f"the trees' objective is not {' or '.join(map(repr, _OBJECTIVES))}")
        trees = [_tree(dict(_entries(part))) for part in parts]
        starts = np.cumsum([0, *(len(tree["column"]) for tree in trees)], dtype=np.int32)

        def joined(name: str, kind: Any) -> Any:
            return np.concatenate([np.empty(0, kind), *(tree[name] for tree in trees)]).astype(kind)

        shifts = np.repeat(starts[:-1], np.diff(starts))
        return cls(
            roots=starts[:-1],
            depths=np.array([tree["depth"] for tree in trees], np.int32),
            column=joined("column", np.int32),
            threshold=joined("threshold", np.float32),
            nan_second=joined("nan_second", np.bool_),
            below=joined("below", np.int32) + shifts,
            value=joined("value", np.float64),
            width=int(dict(_entries(head))["max_feature_idx"]) + 1,
        )

    def sums(self, rows: Matrix) -> Floats:
        """Sums (n,) of the leaves of each of the (n, width) rows, NaN without a value."""
        if rows.dtype != np.float32 or rows.shape[1:] != (self.width,):
            raise ValueError(f"rows of {self.width} single-precision numbers are needed")
        result = np.zeros(len(rows))
        nodes = self.column, self.threshold, self.nan_second, self.below, self.value
        _walk(np.ascontiguousarray(rows), self.roots, self.depths, nodes, bool(np.isnan(rows).any()), result)
        return result


def _entries(part: str) -> list[tuple[str, str]]:
    lines = (line.partition("=") for line in part.split("\n"))
    return [(key, value) for key, equals, value in lines if equals]


def _tree(keys: Mapping[str, str]) -> dict[str, Any]:
    leaves = np.array(keys["leaf_value"].split(), np.float64)
    if keys.get("is_linear", "0") != "0":
        raise Damaged("trees have linear leaves")
    if len(leaves) == 1:
        none = np.zeros(1, np.int32)
        return {"column": none, "threshold": np.array([np.inf]), "nan_second": none, "below": none,
                "value": leaves, "depth": 0}  # fmt: skip
    children = np.stack([np.array(keys[f"{side}_child"].split(), np.int64) for side in ("left", "right")], 1)
    order, depth, level = [0], 0, np.zeros(1, np.int64)
    while len(level):
        level = children[level].ravel()
        order += level.tolist()
        depth, level = depth + 1, level[level >= 0]
    names = np.array(order)  # of nodes as LightGBM has them; leaves below 0
    inner = names >= 0
    kinds = np.array(keys["decision_type"].split(), np.int64)[names[inner]]
    if (kinds & _MISSING == _ZERO).any():
        raise Damaged("trees take zeros for missing values")
    exact = np.array(keys["threshold"].split(), np.float64)[names[inner]]
    columns = np.array(keys["split_feature"].split(), np.int64)[names[inner]]
    n = len(names)
    made: dict[str, Any] = {
        "column": np.zeros(n, np.int32),
        "threshold": np.full(n, np.inf, np.float32),
        "nan_second": np.zeros(n, np.bool_),
        "below": np.arange(n, dtype=np.int32),
        "value": np.zeros(n),
        "depth": depth,
    }
    made["column"][inner] = columns
    made["threshold"][inner] = _rounded_down(exact)
    # If nothing was missing in training, a missing value is a zero.
    made["nan_second"][inner] = np.where(kinds & _MISSING == _NAN, kinds & _DEFAULT_LEFT == 0, exact < 0)
    made["below"][inner] = 1 + 2 * np.arange(int(inner.sum()), dtype=np.int32)
    made["value"][~inner] = leaves[-names[~inner] - 1]
    return made


def _rounded_down(exact: Floats) -> Matrix:
    with np.errstate(over="ignore"):  # beyond the largest: infinite, then the largest
        rounded = exact.astype(np.float32)
        lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.asarray(np.where(rounded.astype(np.float64) > exact, lower, rounded), np.float32)


@numba.njit(cache=True, nogil=True)
def _walk(rows: Any, roots: Any, depths: Any, nodes: Any, missing: bool, sums: Any) -> None:
    column, threshold, nan_second, below, value = nodes
    values_at = np.empty(_ROWS, np.int32)
    for first in range(0, len(rows), _ROWS):
        size = min(_ROWS, len(rows) - first)
        for tree in range(len(roots)):
            values_at[:size] = roots[tree]
            for _ in range(depths[tree]):
                for j in range(size):
                    node = values_at[j]
                    asked = rows[first + j, column[node]]
                    second = asked > threshold[node]
                    if missing:
                        second |= np.isnan(asked) & nan_second[node]
                    values_at[j] = below[node] + second
            for j in range(size):
                sums[first + j] += value[values_at[j]]


_SETTINGS: dict[str, Any] = {
    "min_data_in_leaf": 40,
    "feature_fraction": 0.3,
    "lambda_l2": 5.0,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


def fit_trees(
    features: Matrix, bad: Bad, rounds: int, seed: int, *, leaves: int = 31, rate: float = 0.06
) -> str:
    import lightgbm  # slow to import

    data = lightgbm.Dataset(
        features, bad.astype(np.float32), params={"max_bin": 63, "verbosity": -1, "num_threads": 1}
    )
    objective = "binary" if bad.dtype == np.bool_ else "cross_entropy"
    settings = {
        **_SETTINGS,
        "objective": objective,
        "seed": seed,
        "num_leaves": leaves,
        "learning_rate": rate,
    }
    booster = lightgbm.train(settings, data, num_boost_round=rounds)
    return str(booster.model_to_string())


def load_trees(text: str) -> TreeWalks:
    """From LightGBM's text; raises InputError if it is none of `fit_trees`."""
    try:
        return TreeWalks.from_text(text)
    except (Damaged, KeyError, ValueError, IndexError) as error:
        what = f"the trees of a model of words are damaged ({type(error).__name__})"
        raise InputError(what, remedy=REBUILD) from error


def tree_probability(trees: TreeWalks, features: Matrix) -> Floats:
    return np.asarray(expit(trees.sums(features)), np.float64)
