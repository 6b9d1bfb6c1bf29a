"""Predictions rescaled to the ends of the label scale."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Seed
from qe.config.ranges import Folds
from qe.learning.learner import LEARNERS
from qe.learning.learners.checks import cross_fit, rows_to_predict, training_data
from qe.learning.learners.ensembles import TrustedByMembers, fit_member, make_members
from qe.learning.parameters import StrategyIn
from qe_papers.learner import OwnLearner


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
        self.check_parameters()
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


class Rescaled(OwnLearner):
    """One learner, rescaled; see RescaledRegressor. The member uses standardised features."""

    regressor = RescaledRegressor
    trusted_types: ClassVar[tuple[str, ...]] = cast(tuple[str, ...], TrustedByMembers())
