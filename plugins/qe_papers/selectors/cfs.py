"""Correlation-based feature selection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import unknown_name
from features.basics.hints import Count
from qe.config.distributions import Choice, Distribution
from qe.learning.selector import Selector
from qe.learning.selectors.checks import correlations, training_data

Subset = tuple[int, ...]


@dataclass(repr=False, eq=False)
class CorrelationBased(Selector):
    """The subset of highest merit k r_cf / sqrt(k + k (k - 1) r_ff).

    Its features correlate with the label, not with each other: r_cf is the mean |r| of its k features with
    the label, r_ff their mean |r| with one another. A constant feature has correlation 0. At least one
    feature stays. After fit: `merit_`.

    Source: Hall 2000 (Pearson's correlation, as for a numeric class); WMT12 DFKI, Section 2.3.

    Parameters
    ----------
    search : {'best_first', 'greedy_stepwise'}, default='best_first'
        `best_first` (forward from the best subset so far until `stale` expansions bring no gain)
        or `greedy_stepwise` (adds the best feature until merit decreases).
    stale : int, default=5
        Patience of best-first search, in expansions.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"search": Choice(["best_first", "greedy_stepwise"])}

    search: Literal["best_first", "greedy_stepwise"] = "best_first"
    stale: Count = 5

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        if self.search not in ("best_first", "greedy_stepwise"):
            raise unknown_name("search", self.search, ("best_first", "greedy_stepwise"))
        with_label = correlations(X, y)
        among = np.stack([correlations(X, column) for column in X.T])
        subset, self.merit_ = _search(with_label, among, self.stale if self.search == "best_first" else 1)
        self.support_ = np.isin(np.arange(X.shape[1]), subset)
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)


def _search(with_label: FloatArray, among: FloatArray, stale: int) -> tuple[Subset, float]:
    k = len(with_label)
    best, best_merit = (int(with_label.argmax()),), -1.0
    waiting: dict[Subset, float] = {(): 0.0}
    visited: set[Subset] = {()}
    fruitless = 0
    while waiting and fruitless < stale:
        subset = max(waiting, key=lambda s: (waiting[s], -len(s)))
        del waiting[subset]
        free = np.setdiff1d(np.arange(k), subset)
        merits = _merits(with_label, among, subset, free)
        fruitless += 1
        for feature, merit in zip(free.tolist(), merits.tolist(), strict=True):
            grown = tuple(sorted((*subset, feature)))
            if grown not in visited:
                visited.add(grown)
                waiting[grown] = merit
            if merit > best_merit + 1e-12:
                best, best_merit, fruitless = grown, merit, 0
    return best, best_merit


def _merits(with_label: FloatArray, among: FloatArray, subset: Subset, free: NDArray[np.int64]) -> FloatArray:
    inside = np.asarray(subset, np.int64)
    size = len(subset) + 1
    label = with_label[inside].sum() + with_label[free]
    pairs = np.triu(among[np.ix_(inside, inside)], 1).sum() + among[np.ix_(inside, free)].sum(axis=0)
    # k r_cf / sqrt(k + k (k - 1) r_ff), with both means written as sums.
    return np.asarray(label / np.sqrt(size + 2 * pairs))
