"""Mean of one learner fitted with several seeds."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from qe.learning.learner import LEARNERS, Learner
from qe.learning.learners.checks import rows_to_predict, training_data
from qe.learning.learners.members import TrustedByMembers, fit_member, make_members
from qe.learning.learners.rbf import predicted
from qe.learning.parameters import StrategyIn

_SEEDS = ("random_state", "seed")
_DRAWING: Mapping[str, Any] = {"kind": "lightgbm", "colsample_bytree": 0.3}
SeededMember = Annotated[Mapping[str, Any], StrategyIn(LEARNERS, _SEEDS)]


class SeedAveragingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Mean of the predictions of one learner that was fitted `repeats` times, with other seeds.

    member   `{kind: LEARNER, parameter: value, ...}` without a seed of its own; None: `lightgbm` whose trees
             draw three columns of ten
    repeats  fits, with the seeds `seed`, `seed` + 1, ...

    Takes out the part of an error that comes from the draws of rows and columns alone. A learner without
    draws (as `lightgbm` is by default), whose second fit predicts what its first does, is kept once. After
    fit: `members_`, `weights_`.

    Source: Breiman 1996 (bagging); without a bootstrap of the rows, the member draws itself.
    """

    def __init__(self, member: SeededMember | None = None, repeats: Count = 5, seed: Seed = 0) -> None:
        self.member = member
        self.repeats = repeats
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        if self.repeats < 1:
            raise InputError(f"`repeats` must be 1 or more, but got {self.repeats}")
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
                break  # the seed means nothing to it
            self.members_.append(fitted)
        self.weights_ = np.full(len(self.members_), 1 / len(self.members_))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        X = rows_to_predict(self, X)
        return np.asarray(np.mean([predicted(member, X) for member in self.members_], axis=0))


class SeedAveraging(Learner):
    """Mean over seeds; see SeedAveragingRegressor. The member sees standardised features."""

    trusted_types: ClassVar[tuple[str, ...]] = cast(
        tuple[str, ...], TrustedByMembers("qe.learning.learners.seed_averaging.SeedAveragingRegressor")
    )

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return SeedAveragingRegressor(**{"seed": seed, **params})
