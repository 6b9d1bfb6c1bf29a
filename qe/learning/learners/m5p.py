"""M5' model trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from qe.config.distributions import Choice, Distribution, FloatRange, IntRange
from qe.learning.learner import Learner
from qe.learning.learners._m5p import M5PRegressor


class M5P(Learner):
    """Trees with linear models in their leaves.

    `.describe(names)` of the fitted estimator prints them.

    Parameters: those of M5PRegressor (`min_instances`, `pruning`, `smoothing`, `regression_tree`, ...).
    Features enter unscaled, so that the equations are in the features' own units. Deterministic.

    Source: Wang and Witten 1997; the learner of WMT12 SDLLW, TCD and of Soricut and Narsale.
    """

    space: ClassVar[Mapping[str, Distribution]] = {
        "min_instances": IntRange(4, 200, log=True),
        "smoothing": Choice([True, False]),
        "pruning_factor": FloatRange(0.5, 8.0, log=True),
    }
    scale: ClassVar[bool] = False
    trusted_types: ClassVar[tuple[str, ...]] = ("qe.learning.learners._m5p.M5PRegressor",)

    def estimator(self, *, seed: int = 0, **params: Any) -> BaseEstimator:
        return M5PRegressor(**params)
