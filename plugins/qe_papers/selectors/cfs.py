"""Correlation-based feature selection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from features.basics.hints import Count, Positive
from qe.config.distributions import Choice, Distribution
from qe.learning.learners.checks import training_data
from qe.learning.selector import Selector
from qe.learning.selectors.columns import correlations

Subset = tuple[int, ...]


@dataclass(repr=False, eq=False)
class CorrelationBased(Selector):
    """The subset of highest merit k r_cf / sqrt(k + k (k - 1) r_ff).

    Its features correlate with the label, not with each other: r_cf is the mean |r| of its k features with
    the label, r_ff their mean |r| with one another. A constant feature has correlation 0. At least one
    feature stays. After fit: `merit_`, without the locally predictive features.

    Source: Hall 2000; Weka's CfsSubsetEval; WMT12 DFKI, Section 2.3.

    Parameters
    ----------
    search : {'best_first', 'greedy_stepwise'}, default='best_first'
        `best_first` (forward from the best subset so far until `stale` expansions bring no gain)
        or `greedy_stepwise` (adds the best feature until merit decreases).
    stale : int, default=5
        Patience of best-first search, in expansions.
    interval : float or None, default=None
        Width of the classes to which labels are rounded (halves up); features are discretised for them
        (`cut_points`), and r is the symmetrical uncertainty. None: Pearson's r of the values.
    locally_predictive : bool, default=False
        Whether features are added, from the highest |r| with the label to the lowest, that correlate with
        no feature of the subset more than with the label.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"search": Choice(["best_first", "greedy_stepwise"])}

    search: Literal["best_first", "greedy_stepwise"] = "best_first"
    stale: Count = 5
    interval: Positive | None = None
    locally_predictive: bool = False

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        if self.interval is None:
            with_label, among = correlations(X, y), np.stack([correlations(X, column) for column in X.T])
        else:
            classes = np.floor(y / self.interval + 0.5)
            codes = [np.searchsorted(cut_points(column, classes), column) for column in X.T]
            among = uncertainties(np.column_stack([*codes, classes]))
            with_label, among = among[:-1, -1], among[:-1, :-1]
        subset, self.merit_ = _search(with_label, among, self.stale if self.search == "best_first" else 1)
        kept = list(subset)
        for feature in np.argsort(-with_label, kind="stable").tolist() if self.locally_predictive else ():
            own = with_label[feature]
            if own > 0 and feature not in kept and (among[feature, kept] <= own).all():
                kept.append(feature)
        self.support_ = np.isin(np.arange(X.shape[1]), kept)
        return self


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
        inside, size = np.asarray(subset, np.int64), len(subset) + 1
        label = with_label[inside].sum() + with_label[free]
        shared = np.triu(among[np.ix_(inside, inside)], 1).sum() + among[np.ix_(inside, free)].sum(axis=0)
        # k r_cf / sqrt(k + k (k - 1) r_ff), with both means written as sums.
        merits = label / np.sqrt(size + 2 * shared)
        fruitless += 1
        for feature, merit in zip(free.tolist(), merits.tolist(), strict=True):
            grown = tuple(sorted((*subset, feature)))
            if grown not in visited:
                visited.add(grown)
                waiting[grown] = merit
            if merit > best_merit + 1e-12:
                best, best_merit, fruitless = grown, merit, 0
    return best, best_merit


def uncertainties(codes: NDArray[Any]) -> FloatArray:
    """Symmetrical uncertainties (k, k) of each two columns of (n, k) codes; 0 if both are constant.

    2 (H(X) + H(Y) - H(X, Y)) / (H(X) + H(Y)). Source: Hall 2000.
    """
    members = [column[:, np.newaxis] == np.unique(column) for column in codes.T]
    starts = np.cumsum([0, *(member.shape[1] for member in members[:-1])])
    together = np.hstack(members).astype(np.float64)
    shares = together.T @ together / len(codes)
    bits = -shares * np.log2(np.where(shares > 0, shares, 1.0))
    joint = np.add.reduceat(np.add.reduceat(bits, starts, axis=0), starts, axis=1)
    both = np.diag(joint)[:, np.newaxis] + np.diag(joint)
    return np.asarray(2 * np.maximum(both - joint, 0.0) / np.where(both > 0, both, 1.0))


def cut_points(values: FloatArray, classes: FloatArray) -> list[float]:
    """Boundaries (ascending) between intervals of a feature that tell classes apart.

    An interval is cut where the entropy of the classes on both sides is lowest, midway between two values, if
    its gain is more than minimum description length asks for.

    Source: Fayyad and Irani 1993; the cut is encoded among the distinct values, as Weka's CFS does.

    >>> cut_points(np.arange(30.0), np.repeat([1.0, 2.0, 3.0], 10))
    [9.5, 19.5]
    """
    order = np.argsort(values, kind="stable")
    belongs = classes[order][:, np.newaxis] == np.unique(classes)
    below = np.vstack([np.zeros(belongs.shape[1]), belongs.cumsum(axis=0)])
    return _cuts(values[order], below, 0, len(values))


def _cuts(ordered: FloatArray, below: FloatArray, first: int, end: int) -> list[float]:
    places = first + 1 + np.flatnonzero(np.diff(ordered[first:end]) > 0)
    if not len(places):
        return []
    whole, left = below[[end]] - below[first], below[places] - below[first]
    bits = left.sum(axis=1) * _entropies(left) + (whole - left).sum(axis=1) * _entropies(whole - left)
    best = int(np.argmin(bits))
    parts = whole, left[[best]], (whole - left)[[best]]
    described, of_left, of_right = (float((part > 0).sum() * _entropies(part)[0]) for part in parts)
    delta = np.log2(3.0 ** (whole > 0).sum() - 2) - described + of_left + of_right
    if whole.sum() * _entropies(whole)[0] - bits[best] <= np.log2(len(places)) + delta:
        return []
    cut, place = float(ordered[places[best] - 1] + ordered[places[best]]) / 2, int(places[best])
    return [*_cuts(ordered, below, first, place), cut, *_cuts(ordered, below, place, end)]


def _entropies(counts: FloatArray) -> FloatArray:
    """Entropy (n,) in bits of n rows of class counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(-np.sum(shares * np.log2(np.where(shares > 0, shares, 1.0)), axis=1))
