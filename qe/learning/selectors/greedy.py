"""Greedy selection by held-out error: forward, backward, and by gain per cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import Count, Folds, Inner, NotNegative, Part
from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learners.checks import training_data
from qe.learning.selector import SELECTORS, Selector
from qe.learning.selectors.columns import LearnerConfig, MetricName, uncorrelated
from qe.learning.selectors.paths import backward_path, forward_path
from qe.statistics.metric import METRICS, Metric

_BLOCK = 31  # rows; neighbouring segments share a document


def splits(
    n: int, folds: int, one_split: bool, validation: float | None = None
) -> list[tuple[IntArray, IntArray]]:
    """(train, held out) rows: contiguous blocks of up to 31 rows are assigned to `folds` folds.

    `one_split` gives the first fold alone; `validation` the last share of the rows instead of folds.

    >>> [test.tolist() for _, test in splits(7, 3, one_split=False)]
    [[0, 1, 6], [2, 3], [4, 5]]
    """
    if validation is not None:
        first = n - max(1, min(n - 1, round(validation * n)))
        return [(np.arange(first), np.arange(first, n))] if first else []
    block = max(1, min(_BLOCK, n // folds))
    fold = np.arange(n) // block % folds
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(1 if one_split else folds)]
    return [(train, test) for train, test in parts if len(train) and len(test)]


@dataclass(frozen=True, eq=False)
class Judge:
    """Metric of held-out predictions of all splits, pooled in split order. Higher is better."""

    metric: Metric
    gold: FloatArray
    label_sign: float

    @classmethod
    def make(
        cls, metric: str, y: FloatArray, parts: list[tuple[IntArray, IntArray]], label_sign: float
    ) -> "Judge":
        test = np.concatenate([test for _, test in parts]) if parts else np.arange(0)
        return cls(METRICS.get(metric)(), label_sign * y[test], label_sign)

    def scores(self, predictions: FloatArray) -> FloatArray:
        """Scores (c,) of (n, c) candidate predictions; -inf if the metric is undefined."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        values = np.array([sign * self.metric.score(self.gold, self.label_sign * p) for p in predictions.T])
        return np.where(np.isnan(values), -np.inf, values)

    def score(self, predictions: FloatArray) -> float:
        return float(self.scores(predictions[:, None])[0])


@dataclass(eq=False, repr=False)
class HeldOutSelector(Selector):
    """Base class of selectors by held-out error; parameters as in ForwardSelection."""

    metric: MetricName = "mae"
    folds: Folds = 5
    one_split: bool = False
    learner: LearnerConfig | None = None
    label_sign: float = 1.0
    validation: Inner | None = None


@SELECTORS.register("forward")
@dataclass(eq=False, repr=False)
class ForwardSelection(HeldOutSelector):
    """Adds the feature that improves the metric most, until none does or `max_features` is reached.

    At least one feature is selected. After fit: `path_`, features in order of selection; `scores_` after
    each.

    Source: WMT12 WLV-SHEF, Section 4.1.

    Parameters
    ----------
    max_features : int or None, default=None
        None: no limit.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 if low labels are good (matters to ranking metrics).
    folds : int, default=5
        Number of folds, to which contiguous blocks of 31 rows are assigned; held-out predictions are pooled.
    one_split : bool, default=False
        Only the first fold is held out.
    validation : float or None, default=None
        Share of the rows, the last ones, held out instead of folds; None: folds.
    learner : mapping or None, default=None
        `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"max_features": IntRange(3, 60, log=True)}

    max_features: Count | None = None

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        parts = splits(len(y), self.folds, self.one_split, self.validation)
        judge = Judge.make(self.metric, y, parts, self.label_sign)
        path = forward_path(X, y, parts, self.learner)
        free, taken, reached = np.ones(X.shape[1], np.bool_), list[int](), list[float]()
        most = min(self.max_features or X.shape[1], X.shape[1])
        while len(taken) < most:
            scores = np.where(free, judge.scores(path.candidates(free)), -np.inf)
            best = int(scores.argmax())
            if reached and not scores[best] > reached[-1]:
                break
            free[best] = False
            path.change(best)
            taken.append(best)
            reached.append(float(scores[best]))
        self.path_, self.scores_ = np.asarray(taken, np.int64), np.asarray(reached)
        return self

    def _get_support_mask(self) -> BoolArray:
        support = np.zeros(self.n_features_in_, np.bool_)
        support[self.path_] = True
        return support


@SELECTORS.register("backward_elimination")
@dataclass(eq=False, repr=False)
class BackwardElimination(HeldOutSelector):
    """Drops the feature whose absence improves the metric most, as long as it improves.

    After fit: `path_`, the dropped features in order; `score_`, the final metric (higher is better).

    Source: WMT12 Loria, Algorithm 1.

    Parameters
    ----------
    threshold : float, default=0.999
        Before elimination, the later of two features with |r| above the threshold is dropped.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 if low labels are good (matters to ranking metrics).
    folds : int, default=5
        Number of folds, to which contiguous blocks of 31 rows are assigned.
    one_split : bool, default=True
        Only the first fold is held out, as in the paper; False: every fold in turn, pooled.
    validation : float or None, default=None
        Share of the rows, the last ones, held out instead of folds (the paper: 832 of 1,832).
    learner : mapping or None, default=None
        `{kind: NAME, ...}` to be refitted for every candidate; None: least squares, updated.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"threshold": FloatRange(0.8, 0.999)}

    threshold: Part = 0.999
    one_split: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        self.support_ = uncorrelated(X, self.threshold)
        columns = np.flatnonzero(self.support_)
        parts = splits(len(y), self.folds, self.one_split, self.validation)
        judge = Judge.make(self.metric, y, parts, self.label_sign)
        path, dropped = backward_path(X[:, columns], y, parts, self.learner), []
        self.score_ = judge.score(path.predictions)
        remaining = np.ones(len(columns), np.bool_)
        while remaining.sum() > 1:
            scores = np.where(remaining, judge.scores(path.candidates(remaining)), -np.inf)
            if not scores.max() > self.score_:
                break
            worst = int(scores.argmax())
            self.score_, remaining[worst] = float(scores[worst]), False
            path.change(worst)
            dropped.append(columns[worst])
        self.path_ = np.asarray(dropped, np.int64)
        self.support_[self.path_] = False
        return self


@SELECTORS.register("cost_aware")
@dataclass(eq=False, repr=False)
class CostAware(Selector):
    """Forward selection by gain per cost; selects the cheapest set close to the best.

    The greedy search runs twice, by gain per cost and by gain alone, and the Pareto front covers both. At
    least one feature stays, even over budget. After fit: `front_` (sets, 3): cost, metric (higher is better),
    number of features, by increasing cost; `front_subsets_` (sets, k).

    Raises InputError if `costs` are given and the features have no names, or a cost is negative.

    Parameters
    ----------
    costs : mapping of str to float or None, default=None
        Pattern (`lm_*`) -> microseconds per segment of the family, paid once, by its first feature; the
        first pattern that matches counts, a column without one costs `default_cost`. None: every feature
        costs 1, so that cost is the number of features.
    default_cost : float, default=1.0
        Cost of a column that no pattern matches.
    budget : float or None, default=None
        Maximum cost of a set; None: no limit.
    tolerance : float, default=0.002
        Maximum distance from the best metric, in units of the metric, of the selected set.
    max_features : int or None, default=60
        Maximum number of features in a set; None: no limit.
    metric, folds, label_sign : str, int, int
        As in forward selection; the models are least squares.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"tolerance": FloatRange(1e-4, 0.02, log=True)}

    costs: Mapping[str, NotNegative] | None = None
    default_cost: NotNegative = 1.0
    budget: NotNegative | None = None
    tolerance: NotNegative = 0.002
    max_features: Count | None = 60
    metric: MetricName = "mae"
    folds: Folds = 5
    label_sign: float = 1.0

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        families, prices = self._families(X.shape[1])
        sets = [s for per_cost in (True, False) for s in self._path(X, y, families, prices, per_cost)]
        affordable = [s for s in sets if self.budget is None or s[0] <= self.budget]
        affordable = affordable or [min(sets, key=itemgetter(0))]
        front = list[_Set]()
        for each in sorted(affordable, key=lambda s: (s[0], -s[1], s[2].sum())):
            if not front or each[1] > front[-1][1]:
                front.append(each)
        self.front_ = np.asarray([(cost, score, subset.sum()) for cost, score, subset in front])
        self.front_subsets_ = np.stack([subset for _, _, subset in front])
        near = self.front_[:, 1] >= self.front_[:, 1].max() - self.tolerance
        self.support_ = self.front_subsets_[int(near.argmax())]
        return self

    def _families(self, k: int) -> tuple[NDArray[np.int64], FloatArray]:
        if self.costs is None:
            return np.arange(k), np.ones(k)
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if not names:
            raise InputError(
                "costs are given by name, but the features have no names here", remedy="pass a DataFrame"
            )
        if min([*self.costs.values(), self.default_cost]) < 0:
            raise InputError(f"a cost must not be negative, but got {min(self.costs.values())}")
        patterns, members, prices = list(self.costs), [], [float(c) for c in self.costs.values()]
        for name in names:
            matching = [i for i, pattern in enumerate(patterns) if fnmatchcase(name, pattern)]
            members.append(matching[0] if matching else len(prices))
            if not matching:
                prices.append(self.default_cost)
        return np.asarray(members), np.asarray(prices)

    def _path(
        self, X: FloatArray, y: FloatArray, families: NDArray[np.int64], prices: FloatArray, per_cost: bool
    ) -> "list[_Set]":
        parts = splits(len(y), self.folds, one_split=False)
        judge = Judge.make(self.metric, y, parts, self.label_sign)
        path, sets = forward_path(X, y, parts, None), list[_Set]()
        taken, paid = np.zeros(X.shape[1], np.bool_), np.zeros(len(prices), np.bool_)
        current = judge.score(path.predictions)
        cheapest = max(float(prices[prices > 0].min()) if (prices > 0).any() else 1.0, 1e-300)
        while taken.sum() < min(self.max_features or X.shape[1], X.shape[1]):
            gains = np.where(taken, -np.inf, judge.scores(path.candidates()) - current)
            # A feature of a family already paid for has a small cost, which avoids infinite gain per cost.
            added = np.where(paid[families], 0.0, prices[families]) + 0.1 * cheapest
            best = (
                int((gains / added if per_cost else gains).argmax())
                if gains.max() > 0
                else int(gains.argmax())
            )
            if sets and not gains[best] > 0:
                break
            taken[best], paid[families[best]] = True, True
            path.change(best)
            current = judge.score(path.predictions)
            sets.append((float(prices[paid].sum()), current, taken.copy()))
        return sets


_Set = tuple[float, float, BoolArray]  # cost, metric, features
