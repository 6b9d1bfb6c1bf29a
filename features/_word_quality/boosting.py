"""Boosted trees for P(BAD): small, single-threaded, the same model from the same data and seed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from features._word_quality.columns import Floats
from features.core.boosted_trees import trees_alone
from features.core.damage import REBUILD
from features.core.errors import InputError

Matrix = NDArray[np.float32]

_SETTINGS: dict[str, Any] = {
    "objective": "binary",
    "min_data_in_leaf": 40,
    "feature_fraction": 0.3,
    "lambda_l2": 5.0,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


def fit_trees(
    features: Matrix, bad: NDArray[np.bool_], rounds: int, seed: int, *, leaves: int = 31, rate: float = 0.06
) -> str:
    """The model as LightGBM text."""
    import lightgbm  # slow to import

    data = lightgbm.Dataset(
        features, bad.astype(np.float32), params={"max_bin": 63, "verbosity": -1, "num_threads": 1}
    )
    settings = {**_SETTINGS, "seed": seed, "num_leaves": leaves, "learning_rate": rate}
    booster = lightgbm.train(settings, data, num_boost_round=rounds)
    return str(booster.model_to_string())


def load_trees(text: str) -> Any:
    """From LightGBM's text, by one thread.

    Raises InputError if LightGBM cannot read them.
    """
    import lightgbm

    with threadpool_limits(1, "openmp"):
        try:
            return lightgbm.Booster(model_str=trees_alone(text))
        except Exception as error:  # its reader of damaged text raises nearly everything
            what = f"the trees of a model of words are damaged ({type(error).__name__})"
            raise InputError(what, remedy=REBUILD) from error


def tree_probability(booster: Any, features: Matrix) -> Floats:
    """(n,) P(BAD)."""
    if not len(features):
        return np.empty(0)
    return np.asarray(booster.predict(features, num_threads=1), np.float64)
