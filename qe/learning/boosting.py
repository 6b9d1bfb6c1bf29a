"""LightGBM with scikit-learn's interface, and settings shared by the LightGBM learners."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le, Lt
from lightgbm import LGBMRegressor
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.model_selection import ShuffleSplit

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.hints import Count, NotNegative, Part, Positive, Share, Threads
from features.storage.damage import Damaged

# Reproducible on any number of cores: https://lightgbm.readthedocs.io/en/stable/Parameters.html#deterministic
REPRODUCIBLE: dict[str, Any] = {
    "n_jobs": 1,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
    "subsample_freq": 1,  # without it `subsample` has no effect
}
TRUSTED_TYPES = ("collections.OrderedDict", "lightgbm.basic.Booster", "qe.learning.boosting.BoostedTrees")


VALIDATION = 0.2  # share of training rows used for early stopping
Leaves = Annotated[int, Ge(2), Le(131_072)]
_MOST_THREADS = 1024  # upper limit, because OpenMP ends the process if it cannot start a thread


class BoostedTrees(LGBMRegressor):
    """LGBMRegressor on plain arrays, because it rejects column names with `,`, `:`, `[` or `"`.

    early_stopping_round  patience: trees are added until this many bring no gain on a random fifth of the
                          training rows, then the best number is fitted on all rows. 0: `n_estimators` trees
    monotone_constraints  feature -> 1 if predictions must not fall as it grows, -1 if they must not rise
    """

    _names: Sequence[str] = ()
    _stops = False

    # https://lightgbm.readthedocs.io/en/stable/Parameters.html, with the names of scikit-learn's interface
    stated: ClassVar[Mapping[str, Any]] = {
        "boosting_type": Literal["gbdt", "rf", "dart"],
        "num_leaves": Leaves,
        "max_depth": int,
        "learning_rate": Positive,
        "n_estimators": Count,
        "subsample_for_bin": Count,
        "objective": Literal[
            "regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie"
        ] | None,
        "class_weight": None,
        "min_split_gain": NotNegative,
        "min_child_weight": NotNegative,
        "min_child_samples": Annotated[int, Ge(0)],
        "subsample": Part,
        "subsample_freq": Annotated[int, Ge(0)],
        "colsample_bytree": Part,
        "reg_alpha": NotNegative,
        "reg_lambda": NotNegative,
        "random_state": Annotated[int, Ge(0), Le(2**32 - 1)] | None,
        "n_jobs": Threads,
        "importance_type": Literal["split", "gain"],
        "alpha": Positive,  # Huber loss and quantile loss
        "deterministic": bool,
        "drop_rate": Share,
        "extra_trees": bool,
        "fair_c": Positive,
        "feature_fraction_bynode": Part,
        "force_col_wise": bool,
        "force_row_wise": bool,
        "linear_lambda": NotNegative,
        "linear_tree": bool,
        "max_bin": Annotated[int, Ge(2), Le(65_535)],
        "max_delta_step": float,
        "min_data_in_bin": Count,
        "path_smooth": NotNegative,
        "tweedie_variance_power": Annotated[float, Ge(1), Lt(2)],
        "verbose": int,
        "early_stopping_round": Annotated[int, Ge(0)],
        "monotone_constraints": Mapping[str, Literal[-1, 0, 1]],
        "monotone_constraints_method": Literal["basic", "intermediate", "advanced"],
    }  # fmt: skip

    def fit(  # type: ignore[override]  # scikit-learn's arguments, without LightGBM's evaluation sets
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Fits all rows; `early_stopping_round` chooses the number of trees on held-out rows."""
        if issparse(X):
            raise TypeError("sparse input is not supported; give a dense array")
        weights = None if sample_weight is None else np.asarray(sample_weight)
        self._names = [str(name) for name in getattr(X, "columns", ())]
        rows, labels, most = np.asarray(X, np.float64), np.asarray(y), self.n_estimators
        try:
            if self.get_params().get("early_stopping_round"):
                self.n_estimators = self._trees_needed(rows, labels, weights)
            super().fit(rows, labels, sample_weight=weights, **options)
        finally:
            self.n_estimators = most
        return self

    def _trees_needed(self, rows: FloatArray, labels: FloatArray, weights: FloatArray | None) -> int:
        part = ShuffleSplit(1, test_size=VALIDATION, random_state=self.random_state)
        train, held_out = next(part.split(rows))
        counts = np.ones(len(rows)) if weights is None else weights
        self._stops = True
        try:
            super().fit(
                rows[train], labels[train], sample_weight=counts[train],
                eval_X=rows[held_out], eval_y=labels[held_out], eval_sample_weight=[counts[held_out]],
            )  # fmt: skip
        finally:
            self._stops = False
        return max(1, int(self.best_iteration_))

    def _process_params(self, stage: str) -> dict[str, Any]:
        params: dict[str, Any] = super()._process_params(stage)
        signs = params.pop("monotone_constraints", None)
        if not self._stops:
            params.pop("early_stopping_round", None)
        if signs and stage == "fit":
            if not self._names:
                raise InputError(
                    "`monotone_constraints` name features, but these columns have no names",
                    remedy="set them for the learner itself, not for a member of another",
                )
            params["monotone_constraints"] = [signs.get(name, 0) for name in self._names]
        return params

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def check_arrays(self) -> None:
        """Raises Damaged for settings of a stored model that make LightGBM read out of bounds."""
        threads = self.n_jobs
        if not (threads is None or (isinstance(threads, int) and abs(threads) <= _MOST_THREADS)):
            raise Damaged(f"`n_jobs` must be a whole number up to {_MOST_THREADS}, but is {threads!r}")
        if any("disable_shape_check" in str(name) for name in {**vars(self), **self._other_params}):
            raise Damaged("a model without a check of its input")

    def predict(self, X: ArrayLike, **options: Any) -> FloatArray:  # type: ignore[override]
        return np.asarray(super().predict(np.asarray(X, np.float64), **options), np.float64)
