"""Features worth their cost."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative
from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Folds
from qe.learning.selector import Selector
from qe.learning.selectors.checks import training_data
from qe.learning.selectors.held_out import Judge, splits
from qe.learning.selectors.hints import MetricName
from qe.learning.selectors.paths import forward_path


class CostAware(Selector):
    """Forward selection by gain per cost.

    From its Pareto front, it takes the cheapest set close to the best.

    The greedy order is run twice, by gain per cost and by gain alone; the front is of both. At least one
    feature stays, even beyond the budget. After fit: `front_` (sets, 3): cost, metric (higher is better),
    number of features, by rising cost; `front_subsets_` (sets, k).

    Raises InputError if `costs` are given and the features have no names, or a cost is negative.

    Parameters
    ----------
    costs : mapping of str to float or None, default=None
        Pattern (`lm_*`) -> microseconds per segment of the family, paid once, by its first feature; the
        first pattern that matches counts, a column without one costs `default_cost`. None: every feature
        costs 1, so that cost is the number of features.
    default_cost : float, default=1.0
        Of a column that no pattern matches.
    budget : float or None, default=None
        Sets that cost more are not considered; None: no limit.
    tolerance : float, default=0.002
        The cheapest set whose metric is within this (in units of the metric) of the best is taken.
    max_features : int or None, default=60
        The most features that a set may have; None: no limit.
    metric, folds, label_sign : str, int, int
        As in forward selection; the models are least squares.
    """

    space: ClassVar[Mapping[str, Distribution]] = {"tolerance": FloatRange(1e-4, 0.02, log=True)}

    def __init__(
        self,
        costs: Mapping[str, NotNegative] | None = None,
        default_cost: NotNegative = 1.0,
        budget: NotNegative | None = None,
        tolerance: NotNegative = 0.002,
        max_features: Count | None = 60,
        metric: MetricName = "mae",
        folds: Folds = 5,
        label_sign: float = 1.0,
    ) -> None:
        self.costs = costs
        self.default_cost = default_cost
        self.budget = budget
        self.tolerance = tolerance
        self.max_features = max_features
        self.metric = metric
        self.folds = folds
        self.label_sign = label_sign

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        families, prices = self._families(X.shape[1])
        sets = [s for per_cost in (True, False) for s in self._path(X, y, families, prices, per_cost)]
        affordable = [s for s in sets if self.budget is None or s[0] <= self.budget] or [min(sets, key=_cost)]
        front = _pareto(affordable)
        self.front_ = np.asarray([(cost, score, subset.sum()) for cost, score, subset in front])
        self.front_subsets_ = np.stack([subset for _, _, subset in front])
        near = self.front_[:, 1] >= self.front_[:, 1].max() - self.tolerance
        self.support_ = self.front_subsets_[int(near.argmax())]
        return self

    def _get_support_mask(self) -> BoolArray:
        return np.asarray(self.support_)

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
        judge = Judge.of(self.metric, y, parts, self.label_sign)
        path, sets = forward_path(X, y, parts, None), list[_Set]()
        taken, paid = np.zeros(X.shape[1], np.bool_), np.zeros(len(prices), np.bool_)
        current = judge.score(path.predictions)
        cheapest = max(float(prices[prices > 0].min()) if (prices > 0).any() else 1.0, 1e-300)
        while taken.sum() < min(self.max_features or X.shape[1], X.shape[1]):
            gains = np.where(taken, -np.inf, judge.scores(path.candidates()) - current)
            # A feature of a family already paid for is nearly free, not infinitely better.
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


def _cost(feature_set: _Set) -> float:
    return feature_set[0]


def _pareto(sets: list[_Set]) -> list[_Set]:
    front: list[_Set] = []
    for candidate in sorted(sets, key=lambda s: (s[0], -s[1], s[2].sum())):
        if not front or candidate[1] > front[-1][1]:
            front.append(candidate)
    return front
