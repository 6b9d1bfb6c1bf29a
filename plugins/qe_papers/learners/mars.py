"""Multivariate adaptive regression splines."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe_papers.learners._mars import MarsRegressor


class Mars(Learner):
    """Piecewise-linear regression with learned knots; `.describe(names)` prints the equation.

    Parameters: those of MarsRegressor. Features enter unscaled, so that the knots are in their own units.
    Deterministic. Source: Friedman 1991; WMT12 DFKI (grcfs-mars).
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "max_degree": IntRange(1, 2),
        "max_terms": IntRange(5, 60, log=True),
        "penalty": FloatRange(1.0, 6.0),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe_papers.learners._mars.MarsRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return MarsRegressor(**params)
