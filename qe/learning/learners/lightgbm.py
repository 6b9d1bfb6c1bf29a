"""Gradient-boosted regression trees by LightGBM."""

from collections.abc import Mapping
from typing import Any, ClassVar

from qe.config.distributions import Distribution, FloatRange, IntRange
from qe.learning.boosting import REPRODUCIBLE, TRUSTED_TYPES, BoostedTrees
from qe.learning.learner import Learner


class LightGBM(Learner):
    """Gradient-boosted trees; parameters of `lightgbm.LGBMRegressor` and BoostedTrees.

    Deterministic for one `seed`; one thread by default (`n_jobs`), because folds run in parallel.
    Source: Ke et al. 2017.
    """

    regressor = BoostedTrees
    defaults: ClassVar[Mapping[str, Any]] = REPRODUCIBLE
    space: ClassVar[Mapping[str, Distribution]] = {
        "n_estimators": IntRange(50, 800, log=True),
        "learning_rate": FloatRange(0.01, 0.2, log=True),
        "num_leaves": IntRange(3, 63, log=True),
        "min_child_samples": IntRange(5, 100, log=True),
        "colsample_bytree": FloatRange(0.1, 1.0),
        "subsample": FloatRange(0.4, 1.0),
        "reg_lambda": FloatRange(1e-3, 100.0, log=True),
    }
    scale: ClassVar[bool] = False
    takes_names: ClassVar[bool] = True
    trusted_types: ClassVar[tuple[str, ...]] = TRUSTED_TYPES

    def feature_names(self, params: Mapping[str, Any]) -> list[str]:
        return list(params.get("monotone_constraints", ()))
