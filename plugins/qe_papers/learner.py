"""Learners whose estimators are classes of this package."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.learning.learner import Learner


class OwnLearner(Learner):
    """A learner whose estimator is a dataclass of its parameters.

    regressor  the class of the estimator; it gets the seed if it has one
    """

    regressor: ClassVar[Any]

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        seeded = {"seed": seed} if "seed" in self.regressor.__dataclass_fields__ else {}
        return self.regressor(**{**seeded, **params})
