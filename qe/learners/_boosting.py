"""LightGBM behind scikit-learn's interface, with what the LightGBM learners share."""

from typing import Any, Self

import numpy as np
from lightgbm import LGBMRegressor
from numpy.typing import ArrayLike, NDArray

# Reproducible on any number of cores: https://lightgbm.readthedocs.io/en/stable/Parameters.html#deterministic
REPRODUCIBLE: dict[str, Any] = {
    "n_jobs": 1,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
    "subsample_freq": 1,  # without it `subsample` has no effect
}
TRUSTED_TYPES = ("collections.OrderedDict", "lightgbm.basic.Booster", "qe.learners._boosting.BoostedTrees")


class BoostedTrees(LGBMRegressor):  # type: ignore[misc]
    """LGBMRegressor on plain arrays: LightGBM refuses column names that hold `,`, `:`, `[` or `"`."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **more: Any) -> Self:
        super().fit(np.asarray(X, np.float64), np.asarray(y), sample_weight=sample_weight, **more)
        return self

    def predict(self, X: ArrayLike, **more: Any) -> NDArray[np.float64]:
        predicted: NDArray[np.float64] = super().predict(np.asarray(X, np.float64), **more)
        return predicted
