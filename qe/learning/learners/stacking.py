"""Several learners combined by a model of their cross-fitted predictions."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
from annotated_types import MinLen
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, RegressorMixin, clone

from features.basics.array_types import FloatArray
from features.basics.errors import unknown_name
from features.basics.hints import NotNegative, Seed
from qe.config.ranges import Folds
from qe.learning.learner import Learner
from qe.learning.learners._checks import relative_weights, rows_to_predict, training_data
from qe.learning.learners._folds import cross_fit
from qe.learning.learners._members import Member, TrustedByMembers, fit_member, make_members


class StackingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear combination of the members, its weights learned on predictions for held-out blocks.

    members   each `{kind: LEARNER, parameter: value, ...}`; None: as in averaging
    folds     contiguous blocks of the cross-fitting
    final     `nonnegative` (least squares with weights >= 0) or `ridge` (penalty alpha, any sign)
    alpha     of the ridge, in segments

    After fit: `members_` (fitted on all rows), `weights_`, `intercept_`.

    Source: Wolpert 1992; Breiman 1996 (non-negative weights).
    """

    def __init__(
        self,
        members: Annotated[Sequence[Member], MinLen(1)] | None = None,
        folds: Folds = 5,
        final: Literal["nonnegative", "ridge"] = "nonnegative",
        alpha: NotNegative = 10.0,
        seed: Seed = 0,
    ) -> None:
        self.members = members
        self.folds = folds
        self.final = final
        self.alpha = alpha
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.final not in ("nonnegative", "ridge"):
            raise unknown_name("final model", self.final, ("nonnegative", "ridge"))
        X, y = training_data(self, X, y)
        weights = relative_weights(sample_weight, len(y))
        members = make_members(self.members, self.seed)
        given = None if sample_weight is None else weights
        # Fitted first: a member that takes no weights says so.
        self.members_ = [fit_member(clone(member), X, y, given) for member in members]
        held_out = np.column_stack([cross_fit(member, X, y, self.folds, given) for member in members])
        means, centre = np.average(held_out, axis=0, weights=weights), float(np.average(y, weights=weights))
        roots = np.sqrt(weights)
        self.weights_ = self._combine((held_out - means) * roots[:, None], (y - centre) * roots)
        self.intercept_ = centre - float(means @ self.weights_)
        return self

    def predict(self, X: Any) -> FloatArray:
        X = rows_to_predict(self, X)
        predictions = np.column_stack([member.predict(X) for member in self.members_])
        return np.asarray(predictions @ self.weights_ + self.intercept_)

    def _combine(self, P: FloatArray, y: FloatArray) -> FloatArray:
        if self.final == "nonnegative":
            return np.asarray(nnls(P, y)[0])
        return np.asarray(np.linalg.solve(P.T @ P + self.alpha * np.eye(P.shape[1]), P.T @ y), np.float64)


class Stacking(Learner):
    """Stacked learners; see StackingRegressor. All members see standardised features."""

    trusted_types: ClassVar[tuple[str, ...]] = cast(
        tuple[str, ...], TrustedByMembers("qe.learning.learners.stacking.StackingRegressor")
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return StackingRegressor(**{"seed": seed, **params})
