"""Multivariate adaptive regression splines."""

from collections.abc import Mapping
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator

from qe.learners._base import Learner
from qe.learners._mars import MarsRegressor


class Mars(Learner):
    """Piecewise-linear regression with knots of its own; `.describe(names)` prints the equation.

    Parameters: those of MarsRegressor. Features enter unscaled, so that the knots are in their own units.
    Deterministic. Source: Friedman 1991; WMT12 DFKI (grcfs-mars).
    """

    space: ClassVar[Mapping[str, BaseDistribution]] = {
        "max_degree": IntDistribution(1, 2),
        "max_terms": IntDistribution(5, 60, log=True),
        "penalty": FloatDistribution(1.0, 6.0),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learners._mars.MarsRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return MarsRegressor(**params)
