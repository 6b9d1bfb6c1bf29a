"""Learners whose estimators are classes of this package."""

from inspect import getattr_static
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.learning.learner import Learner


class OwnLearner(Learner):
    """A learner whose estimator is the dataclass `regressor`, allowed in model files."""

    regressor: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        own, declared = cls.regressor, getattr_static(cls, "trusted_types")
        if isinstance(declared, tuple):
            cls.trusted_types = f"{own.__module__}.{own.__qualname__}", *declared

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        seeded = {"seed": seed} if "seed" in self.regressor.__dataclass_fields__ else {}
        return self.regressor(**{**seeded, **params})
