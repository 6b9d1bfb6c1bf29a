"""Means of models, models of random feature sets, rescaled predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone

from features.basics.array_types import FloatArray, IntArray
from features.basics.errors import InputError
from features.basics.hints import Count, Folds, Positive, Seed, Share
from qe.config.distributions import Choice, Distribution, FloatRange
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import cross_fit, rows_to_predict, training_data
from qe.learning.learners.ensembles import TrustedByMembers, fit_member, make_members
from qe.learning.parameters import StrategyIn
from qe_papers.learners.discretised import TRUSTED_TYPES, Classifier, DiscretisedRegressor, Output


@dataclass(repr=False, eq=False)
class ClassifierMean(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of an RBF-SVM, naive Bayes and a random forest, classifiers of labels rounded to `interval`.

    C, gamma       SVM parameters
    n_estimators   trees of the forest; 10, and log2(M) + 1 of M features per split, are Weka's of 2012
    output         `most_likely`, as published, or `expected`

    Source: WMT12 DCU-SYMC, Section 4.1.
    """

    C: Positive = 1.0
    gamma: Positive | Literal["scale", "auto"] = "scale"
    n_estimators: Count = 10
    interval: Positive = 1.0
    output: Output = "most_likely"
    seed: Seed = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        params: dict[Classifier, dict[str, Any]] = {
            "svm": {"C": self.C, "gamma": self.gamma},
            "naive_bayes": {},
            "forest": {
                "n_estimators": self.n_estimators,
                "min_samples_leaf": 1,
                "max_features": tried_features(X.shape[1]),
            },
        }
        self.members_ = [
            DiscretisedRegressor(name, self.interval, self.output, own, self.seed).fit(X, y, sample_weight)
            for name, own in params.items()
        ]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        return np.asarray(np.mean([member.predict(X) for member in self.members_], axis=0))


def tried_features(columns: int) -> int:
    """Features per split in Weka's forest of 2012: the integer part of log2(M) + 1.

    >>> [tried_features(columns) for columns in (1, 54, 64, 113)]
    [1, 6, 7, 7]
    """
    return columns.bit_length()


class DcuMean(Learner):
    """Mean of three classifiers of rounded labels. See ClassifierMean; deterministic for one `seed`."""

    regressor = ClassifierMean
    space: ClassVar[Mapping[str, Distribution]] = {
        "C": FloatRange(0.1, 30.0, log=True),
        "gamma": FloatRange(1e-4, 0.3, log=True),
        "output": Choice(["most_likely", "expected"]),
    }
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES


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
        if X.shape[1] < self.baseline:
            raise InputError(
                f"the baseline has {self.baseline} columns, but there are {X.shape[1]}",
                location="learner 'random_feature_sets'",
                remedy="set `baseline` to how many of the first columns are in every set",
            )
        first, others = np.arange(self.baseline), np.arange(self.baseline, X.shape[1])
        rng, size = np.random.default_rng(self.seed), int(np.ceil(self.share * len(others)))
        drawn = [np.sort(rng.choice(others, size, replace=False)) for _ in range(self.sets)]
        candidates: list[IntArray] = [first, *(np.concatenate([first, more]) for more in drawn)]
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


class RandomSets(Learner):
    """Mean of one learner on the random feature sets that beat the baseline. See RandomFeatureSets."""

    regressor = RandomFeatureSets
    space: ClassVar[Mapping[str, Distribution]] = {"share": FloatRange(0.2, 0.8)}
    trusted_types: ClassVar[tuple[str, ...]] = cast(tuple[str, ...], TrustedByMembers())


@dataclass(repr=False, eq=False)
class RescaledRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A member's predictions S, rescaled by low + (high - low) (S - S_min) / (S_max - S_min) and clipped.

    member      `{kind: LEARNER, parameter: value, ...}`; None: `svr_rbf`
    low, high   ends of the scale, in label units; None: those of the training labels
    folds       cross-fitting folds for S_min and S_max

    In the paper, S_min and S_max come from the predictions for the test set, so that every score depends on
    all other segments; here they come from cross-fitted training predictions. A constant prediction is not
    rescaled. After fit: `member_`, `extremes_`, `ends_`.

    Source: WMT12 DCU-SYMC, equation 1.
    """

    member: Annotated[Mapping[str, Any], StrategyIn(LEARNERS)] | None = None
    low: float | None = None
    high: float | None = None
    folds: Folds = 5
    seed: Seed = 0

    def check_parameters(self) -> None:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InputError(f"`low < high` must hold, but got (low={self.low}, high={self.high})")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        member = make_members([self.member or {"kind": "svr_rbf"}], self.seed)[0]
        self.member_ = fit_member(member, X, y, sample_weight)  # raises InputError early
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        held_out = cross_fit(member, X, y, self.folds, weights)
        self.extremes_ = float(held_out.min()), float(held_out.max())
        self.ends_ = (
            float(y.min()) if self.low is None else float(self.low),
            float(y.max()) if self.high is None else float(self.high),
        )
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        predicted = np.asarray(self.member_.predict(X), np.float64)
        (least, most), (low, high) = self.extremes_, self.ends_
        if most > least:
            predicted = low + (high - low) * (predicted - least) / (most - least)
        return np.clip(predicted, low, high)


class Rescaled(Learner):
    """Predictions rescaled to the ends of the label scale. See RescaledRegressor."""

    regressor = RescaledRegressor
    trusted_types: ClassVar[tuple[str, ...]] = cast(tuple[str, ...], TrustedByMembers())
