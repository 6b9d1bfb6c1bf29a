"""Averages of learners, and a learner whose parameters are tuned within every fold."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from annotated_types import MinLen
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, Folds, Inner, NotNegative, Seed
from qe.learning.learner import LEARNERS, Regressor
from qe.learning.learners.checks import contiguous_folds, rows_to_predict, training_data
from qe.learning.learners.similarity import predicted
from qe.learning.parameters import Grid, NameIn, StrategyIn
from qe.statistics.metric import METRICS

Member = Annotated[Mapping[str, Any], StrategyIn(LEARNERS)]  # {"kind": "ridge", "alpha": 10.0, ...}

STRONG_AND_DIFFERENT: tuple[Member, ...] = (
    {"kind": "importance_weighted_svr"},
    {"kind": "elastic_net"},
    {"kind": "svr_rbf", "gamma": "scale"},
    {
        "kind": "lightgbm",
        "n_estimators": 150,
        "num_leaves": 7,
        "learning_rate": 0.05,
        "colsample_bytree": 0.3,
    },
)  # this average was the best of the feasibility study


def make_members(members: Sequence[Member] | None, seed: int) -> list[BaseEstimator]:
    """Unfitted estimators; None: the four of the feasibility study. Raises InputError for invalid members."""
    if members is None:
        members = STRONG_AND_DIFFERENT
    made = []
    for member in members:
        params = {name: value for name, value in member.items() if name != "kind"}
        try:
            made.append(LEARNERS.get(member["kind"])().estimator(seed=seed, **params))
        except TypeError as error:
            raise InputError(f"learner '{member['kind']}': {error}") from None
    return made


def fit_member(member: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> BaseEstimator:
    if sample_weight is None:
        return member.fit(X, y)
    if not has_fit_parameter(member, "sample_weight"):
        raise InputError(f"{type(member).__name__} takes no weights", remedy="set `weights: none`")
    return member.fit(X, y, sample_weight=sample_weight)


class TrustedByMembers:
    """Trusted types of an ensemble: its own class and the types of all available learners."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        names = set(self.names)
        for name in LEARNERS.names:
            try:
                learner = LEARNERS.get(name)
            except ModuleNotFoundError:  # this kind of member is not installed
                continue
            trusted = inspect.getattr_static(learner, "trusted_types")
            # A nested ensemble adds its own class only; its members' types would recurse forever.
            names.update(trusted.names if isinstance(trusted, TrustedByMembers) else learner.trusted_types)
            kind = type(learner().estimator())
            names.add(f"{kind.__module__}.{kind.__qualname__}")
        return tuple(sorted(names))


class Ensemble(Regressor):
    """Base class of learners with members."""

    trusted_types: ClassVar[tuple[str, ...]] = cast(tuple[str, ...], TrustedByMembers())


@LEARNERS.register("averaging")
@dataclass(eq=False, repr=False)
class AveragingRegressor(Ensemble):
    """(Weighted) mean of the members' predictions, as WMT12 UEdin and DCU-SYMC average.

    Parameters
    ----------
    members : list of dict or None, default=None
        Each `{kind: LEARNER, parameter: value, ...}`; None: importance-weighted SVR, elastic net, RBF-SVR and
        LightGBM, as in the feasibility study.
    weights : list of float or None, default=None
        One per member, not negative; None: equal.
    """

    members: Annotated[Sequence[Member], MinLen(1)] | None = None
    weights: Sequence[NotNegative] | None = None
    seed: Seed = 0

    def check_parameters(self) -> None:
        members = STRONG_AND_DIFFERENT if self.members is None else self.members
        weights = np.ones(len(members)) if self.weights is None else np.asarray(self.weights, np.float64)
        if weights.shape != (len(members),) or not weights.sum() > 0:
            raise InputError(f"{len(members)} members need as many weights, but got {self.weights}")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        members = make_members(self.members, self.seed)
        weights = np.ones(len(members)) if self.weights is None else np.asarray(self.weights, np.float64)
        self.members_ = [fit_member(member, X, y, sample_weight) for member in members]
        self.weights_ = weights / weights.sum()
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        by_member = np.column_stack([predicted(member, X) for member in self.members_])
        return np.asarray(by_member @ self.weights_)


_SEEDS = ("random_state", "seed")
_DRAWING: Mapping[str, Any] = {"kind": "lightgbm", "colsample_bytree": 0.3}
SeededMember = Annotated[Mapping[str, Any], StrategyIn(LEARNERS, _SEEDS)]


@LEARNERS.register("seed_averaging")
@dataclass(eq=False, repr=False)
class SeedAveragingRegressor(Ensemble):
    """Mean of the predictions of one learner fitted `repeats` times with different seeds.

    Parameters
    ----------
    member : dict or None, default=None
        `{kind: LEARNER, parameter: value, ...}` without its own seed; None: `lightgbm` whose trees draw three
        columns of ten.
    repeats : int, default=5
        Number of fits, with the seeds `seed`, `seed` + 1, ...; a deterministic learner is fitted once.

    Source: Breiman 1996 (bagging), without a bootstrap of the rows: the member is random itself.
    """

    member: SeededMember | None = None
    repeats: Count = 5
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        member = _DRAWING if self.member is None else self.member
        fixed = [name for name in _SEEDS if name in member]
        if fixed:
            raise InputError(
                f"a member with `{fixed[0]}` would be the same every time",
                remedy="leave it out: seeds are given",
            )
        X, y = training_data(self, X, y)
        self.members_: list[BaseEstimator] = []
        for i in range(self.repeats):
            fitted = fit_member(make_members([member], (self.seed + i) % 2**32)[0], X, y, sample_weight)
            if i == 1 and np.array_equal(fitted.predict(X), self.members_[0].predict(X)):
                break  # the member ignores the seed
            self.members_.append(fitted)
        self.weights_ = np.full(len(self.members_), 1 / len(self.members_))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        return np.asarray(np.mean([predicted(member, X) for member in self.members_], axis=0))


def grid_points(grid: Mapping[str, Sequence[Any]] | None) -> list[dict[str, Any]]:
    """All combinations of the values of a grid.

    >>> grid_points({"C": [1, 4], "gamma": [0.1]}), grid_points(None)
    ([{'C': 1, 'gamma': 0.1}, {'C': 4, 'gamma': 0.1}], [{}])
    """
    grid = grid or {}
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


_TUNED: Mapping[str, Any] = {"kind": "svr_rbf"}


@LEARNERS.register("tuned")
@dataclass(eq=False, repr=False)
class TunedRegressor(Ensemble):
    """A learner with the grid point that performs best on held-out rows.

    Parameters
    ----------
    member : dict or None, default=None
        `{kind: LEARNER, parameter: value, ...}`; None: `svr_rbf`.
    grid : mapping of str to list, default=None
        Parameter -> values to try; ties go to the first.
    columns : int or None, default=None
        Number of leading columns used in the search; None: all.
    validation : float or None, default=None
        Share of the rows, the last ones, held out for the search; None: `folds` contiguous folds.
    metric : str, default='mae'
        A metric's name; `label_sign` -1 if low labels are good (matters to ranking metrics).

    After fit: `params_`, `scores_` of the combinations (higher is better), `member_`.
    Source: Wu and Zhao 2012 (SJTU at WMT12), sections 4.1 and 4.2: on the baseline's columns, 3/4 to 1/4.
    """

    member: Annotated[Mapping[str, Any], StrategyIn(LEARNERS)] | None = None
    grid: Grid | None = None
    columns: Count | None = None
    validation: Inner | None = None
    folds: Folds = 5
    metric: Annotated[str, NameIn(METRICS)] = "mae"
    label_sign: float = 1.0
    seed: Seed = 0

    def check_parameters(self) -> None:
        for params in grid_points(self.grid):
            make_members([{**(self.member or _TUNED), **params}], self.seed)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        if self.columns is not None and X.shape[1] < self.columns:
            raise InputError(
                f"the search needs {self.columns} columns, but there are {X.shape[1]}",
                location="learner 'tuned'",
                remedy="set `columns` to how many of the first columns the search sees",
            )
        seen = X[:, : self.columns]
        combinations = grid_points(self.grid)
        chosen = [{**(self.member or _TUNED), **params} for params in combinations]
        members = [make_members([member], self.seed)[0] for member in chosen]
        self.scores_ = [self._score(m, seen, y, sample_weight) for m in members] if len(members) > 1 else []
        best = int(np.argmax(self.scores_)) if self.scores_ else 0
        self.params_ = combinations[best]
        self.member_ = fit_member(members[best], X, y, sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.member_.predict(rows), np.float64)

    def _score(self, member: BaseEstimator, X: FloatArray, y: FloatArray, weights: Any) -> float:
        n, blocks = len(y), []
        if n < 2:
            raise InputError(f"a search of parameters needs 2 rows, but got {n}")
        if self.validation is None:
            parts = list(contiguous_folds(n, self.folds))
        else:
            first = n - max(1, min(n - 1, round(self.validation * n)))
            parts = [(np.arange(first), np.arange(first, n))]
        for train, test in parts:
            counts = None if weights is None else np.asarray(weights, np.float64)[train]
            fitted = fit_member(clone(member), X[train], y[train], counts)
            blocks.append(np.asarray(fitted.predict(X[test]), np.float64))
        gold, metric = np.concatenate([y[test] for _, test in parts]), METRICS.get(self.metric)()
        score = metric.score(self.label_sign * gold, self.label_sign * np.concatenate(blocks))
        return -np.inf if np.isnan(score) else float(score if metric.higher_is_better else -score)
