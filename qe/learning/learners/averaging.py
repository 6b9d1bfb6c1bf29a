"""Mean of several learners."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from annotated_types import MinLen
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.errors import InputError
from features.basics.hints import NotNegative, Seed
from qe.learning.learner import Learner
from qe.learning.learners.checks import rows_to_predict, training_data
from qe.learning.learners.members import (
    STRONG_AND_DIFFERENT,
    Member,
    TrustedByMembers,
    fit_member,
    make_members,
)
from qe.learning.learners.rbf import predicted


class AveragingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """(Weighted) mean of the members' predictions.

    members   each `{kind: LEARNER, parameter: value, ...}`; None: importance-weighted SVR, elastic net,
              RBF-SVR and LightGBM
    weights   one per member, not negative; None: equal

    After fit: `members_`. Source: WMT12 UEdin and DCU-SYMC average; the members are the feasibility study's.
    """

    def __init__(
        self,
        members: Annotated[Sequence[Member], MinLen(1)] | None = None,
        weights: Sequence[NotNegative] | None = None,
        seed: Seed = 0,
    ) -> None:
        self.members = members
        self.weights = weights
        self.seed = seed

    def check_parameters(self) -> None:
        """Raises InputError for weights that are not one per member, or all 0."""
        members = STRONG_AND_DIFFERENT if self.members is None else self.members
        weights = np.ones(len(members)) if self.weights is None else np.asarray(self.weights, np.float64)
        if (
            weights.shape != (len(members),)
            or (weights < 0).any()
            or (len(members) and not weights.sum() > 0)
        ):
            raise InputError(
                f"{len(members)} members need as many weights, none negative, but got {self.weights}"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X, y = training_data(self, X, y)
        self.check_parameters()
        members = make_members(self.members, self.seed)
        weights = np.ones(len(members)) if self.weights is None else np.asarray(self.weights, np.float64)
        self.members_ = [fit_member(member, X, y, sample_weight) for member in members]
        self.weights_ = weights / weights.sum()
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        by_member = np.column_stack([predicted(member, X) for member in self.members_])
        return np.asarray(by_member @ self.weights_)


class Averaging(Learner):
    """Mean of learners; see AveragingRegressor. All members see standardised features."""

    trusted_types: ClassVar[tuple[str, ...]] = cast(
        tuple[str, ...], TrustedByMembers("qe.learning.learners.averaging.AveragingRegressor")
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return AveragingRegressor(**{"seed": seed, **params})
