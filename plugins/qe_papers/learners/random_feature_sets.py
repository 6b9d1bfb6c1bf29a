"""Mean of one learner on the random feature sets that beat the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import Count, Seed, Share
from qe.config.distributions import Distribution, FloatRange
from qe.config.ranges import Folds
from qe.learning.learner import LEARNERS
from qe.learning.learners.checks import cross_fit, rows_to_predict, training_data
from qe.learning.learners.ensembles import TrustedByMembers, fit_member, make_members
from qe.learning.parameters import StrategyIn
from qe_papers.learner import OwnLearner


@dataclass(repr=False, eq=False)
class RandomFeatureSets(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of members fitted on random feature sets: the baseline and a `share` of the other columns.

    member     `{kind: LEARNER, parameter: value, ...}`; None: `ridge`
    baseline   number of leading columns that are in every set
    sets       number of random sets
    share      share of the other columns in a set, rounded up
    folds      cross-validation folds that compare the mean absolute errors of the sets

    Sets with a smaller error than the baseline are averaged; if there are none, only the baseline's member is
    used. After fit: `columns_` of the averaged sets, `members_`, `errors_` (the baseline's first).

    Source: WMT12 UEdin, section 4.2.
    """

    member: Annotated[Mapping[str, Any], StrategyIn(LEARNERS)] | None = None
    baseline: Count = 1
    sets: Count = 20
    share: Share = 0.5
    folds: Folds = 5
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        member = make_members([self.member or {"kind": "ridge"}], self.seed)[0]
        candidates = self._candidates(X.shape[1])
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        held_out = [cross_fit(member, X[:, columns], y, self.folds, weights) for columns in candidates]
        self.errors_ = np.array([float(np.abs(predicted - y).mean()) for predicted in held_out])
        better = np.flatnonzero(self.errors_ < self.errors_[0])
        self.columns_ = [candidates[k] for k in better] or candidates[:1]
        self.members_ = [fit_member(clone(member), X[:, c], y, sample_weight) for c in self.columns_]
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        pairs = zip(self.members_, self.columns_, strict=True)
        return np.asarray(np.mean([m.predict(X[:, c]) for m, c in pairs], axis=0), np.float64)

    def _candidates(self, columns: int) -> list[IntArray]:
        if columns < self.baseline:
            raise InputError(
                f"the baseline has {self.baseline} columns, but there are {columns}",
                location="learner 'random_feature_sets'",
                remedy="set `baseline` to how many of the first columns are in every set",
            )
        first, others = np.arange(self.baseline), np.arange(self.baseline, columns)
        rng, size = np.random.default_rng(self.seed), int(np.ceil(self.share * len(others)))
        drawn = [np.sort(rng.choice(others, size, replace=False)) for _ in range(self.sets)]
        return [first, *(np.concatenate([first, more]) for more in drawn)]


class RandomSets(OwnLearner):
    """One learner on random feature sets; see RandomFeatureSets. Members use standardised features."""

    regressor = RandomFeatureSets
    space: ClassVar[Mapping[str, Distribution]] = {"share": FloatRange(0.2, 0.8)}
    trusted_types: ClassVar[tuple[str, ...]] = cast(tuple[str, ...], TrustedByMembers())
