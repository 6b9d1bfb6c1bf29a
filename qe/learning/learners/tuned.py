"""One learner whose parameters are searched on a grid inside every fold, then kept."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from qe.config.ranges import Folds, Inner
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import rows_to_predict, training_data
from qe.learning.learners.folds import contiguous_folds
from qe.learning.learners.members import TrustedByMembers, fit_member, make_members
from qe.learning.parameters import NameIn, StrategyIn
from qe.statistics.metric import METRICS


class TunedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The member with the parameters of a grid that do best on rows it was not fitted on.

    member      `{kind: LEARNER, parameter: value, ...}`; None: `svr_rbf`
    grid        parameter -> the values to try; of equally good ones the first wins
    columns     the search sees the first so many columns only; None: all
    validation  the share of rows, the last, that judges; None: contiguous folds
    folds       of the cross-validation, where `validation` is None
    metric      a metric's name; `label_sign` -1 where a low label is good (matters to ranking metrics)

    The parameters found are kept for all columns and rows. After fit: `params_`, `scores_` of the
    combinations (higher is better), `member_`. Raises InputError for fewer columns than `columns`, and fewer
    than two rows.

    Source: Wu and Zhao 2012 (SJTU at WMT12), sections 4.1 and 4.2: on the baseline's columns, 3/4 to 1/4.
    """

    def __init__(
        self,
        member: Annotated[Mapping[str, Any], StrategyIn(LEARNERS)] | None = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        columns: Count | None = None,
        validation: Inner | None = None,
        folds: Folds = 5,
        metric: Annotated[str, NameIn(METRICS)] = "mae",
        label_sign: float = 1.0,
        seed: Seed = 0,
    ) -> None:
        self.member = member
        self.grid = grid
        self.columns = columns
        self.validation = validation
        self.folds = folds
        self.metric = metric
        self.label_sign = label_sign
        self.seed = seed

    def check_parameters(self) -> None:
        """Raises InputError for an empty list of values, and values that the member does not take."""
        for name, values in (self.grid or {}).items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise InputError(f"`grid.{name}` must be a list of values, but got {values!r}")
        for params in self._combinations():
            make_members([{**self._member, **params}], self.seed)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.check_parameters()
        X, y = training_data(self, X, y)
        seen = self._seen(X)
        combinations = self._combinations()
        members = [make_members([{**self._member, **params}], self.seed)[0] for params in combinations]
        self.scores_ = [self._score(m, seen, y, sample_weight) for m in members] if len(members) > 1 else []
        best = int(np.argmax(self.scores_)) if self.scores_ else 0
        self.params_ = combinations[best]
        self.member_ = fit_member(members[best], X, y, sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        rows = rows_to_predict(self, X)
        return np.asarray(self.member_.predict(rows), np.float64)

    @property
    def _member(self) -> dict[str, Any]:
        return dict(self.member or {"kind": "svr_rbf"})

    def _combinations(self) -> list[dict[str, Any]]:
        grid = self.grid or {}
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def _seen(self, X: FloatArray) -> FloatArray:
        if self.columns is not None and X.shape[1] < self.columns:
            raise InputError(
                f"the search needs {self.columns} columns, but there are {X.shape[1]}",
                location="learner 'tuned'",
                remedy="set `columns` to how many of the first columns the search sees",
            )
        return X[:, : self.columns]

    def _score(self, member: BaseEstimator, X: FloatArray, y: FloatArray, weights: Any) -> float:
        parts = self._parts(len(y))
        predicted = np.concatenate([_predicted(member, X, y, weights, *rows) for rows in parts])
        gold, metric = np.concatenate([y[held] for _, held in parts]), METRICS.get(self.metric)()
        score = metric.score(self.label_sign * gold, self.label_sign * predicted)
        return -np.inf if np.isnan(score) else float(score if metric.higher_is_better else -score)

    def _parts(self, rows: int) -> list[tuple[IntArray, IntArray]]:
        if rows < 2:
            raise InputError(f"a search of parameters needs 2 rows, but got {rows}")
        if self.validation is None:
            return list(contiguous_folds(rows, self.folds))
        first = rows - max(1, min(rows - 1, round(self.validation * rows)))
        return [(np.arange(first), np.arange(first, rows))]


def _predicted(
    member: BaseEstimator, X: FloatArray, y: FloatArray, weights: Any, train: IntArray, held: IntArray
) -> FloatArray:
    own = None if weights is None else np.asarray(weights, np.float64)[train]
    return np.asarray(fit_member(clone(member), X[train], y[train], own).predict(X[held]), np.float64)


class Tuned(Learner):
    """One learner with a grid inside; see TunedRegressor. The member sees standardised features."""

    trusted_types: ClassVar[tuple[str, ...]] = cast(
        tuple[str, ...], TrustedByMembers("qe.learning.learners.tuned.TunedRegressor")
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return TunedRegressor(**{"seed": seed, **params})
