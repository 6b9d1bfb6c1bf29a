"""Boosted trees for P(BAD): small, single-threaded, reproducible from data and seed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from features.basics.errors import InputError
from features.storage.damage import REBUILD, Damaged
from features.word_level.columns import Floats
from features.word_level.labels import Bad
from features.word_level.tree_walks import TreeWalks

Matrix = NDArray[np.float32]

_SETTINGS: dict[str, Any] = {
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
    features: Matrix, bad: Bad, rounds: int, seed: int, *, leaves: int = 31, rate: float = 0.06
) -> str:
    """The model as LightGBM text: by the cross-entropy with tags, or with probabilities."""
    import lightgbm  # slow to import

    data = lightgbm.Dataset(
        features, bad.astype(np.float32), params={"max_bin": 63, "verbosity": -1, "num_threads": 1}
    )
    objective = "binary" if bad.dtype == np.bool_ else "cross_entropy"
    settings = {
        **_SETTINGS,
        "objective": objective,
        "seed": seed,
        "num_leaves": leaves,
        "learning_rate": rate,
    }
    booster = lightgbm.train(settings, data, num_boost_round=rounds)
    return str(booster.model_to_string())


def load_trees(text: str) -> TreeWalks:
    """From LightGBM's text. Raises InputError if it is none of `fit_trees`."""
    try:
        return TreeWalks.from_text(text)
    except (Damaged, KeyError, ValueError, IndexError) as error:
        what = f"the trees of a model of words are damaged ({type(error).__name__})"
        raise InputError(what, remedy=REBUILD) from error


def tree_probability(trees: TreeWalks, features: Matrix) -> Floats:
    return np.asarray(expit(trees.sums(features)), np.float64)
