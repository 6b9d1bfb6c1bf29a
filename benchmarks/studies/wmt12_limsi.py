"""Table 1 and section 4.4 of LIMSI at WMT12, computed again on the training segments.

Wisniewski et al. 2012.

    python benchmarks/studies/wmt12_limsi.py

The 31 features of experiments/wmt12/limsi-forest.yaml. "train": errors on the rows that the model has learned
from, as in the paper; "folds": means over 10 contiguous folds, instead of the paper's test set. Last, the
paper's oracle: what a random forest gains on 432 random rows from HTER as a feature, having learned from the
other 1,400; means and standard deviations over random divisions.
"""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from features.basics.array_types import FloatArray
from features.storage.cache_folder import default_cache
from qe.config.experiment import load
from qe.data.folds import Rows, make_folds
from qe.models.pipeline import imputer
from qe.training.check import check
from qe.training.preparation import prepare
from qe.training.reading import read_dataset, scores_of

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments" / "wmt12" / "limsi-forest.yaml"
HELD_OUT = 432
# Method -> MAE and RMSE on the training rows, and on the test set.
PUBLISHED = {
    "linear": (0.58, 0.71, 0.66, 0.82),
    "polynomial, n 2": (0.55, 0.68, 0.64, 0.79),
    "polynomial, n 3": (0.54, 0.67, 0.64, 0.79),
    "polynomial, n 4": (0.54, 0.67, 0.65, 0.85),
    "forest": (0.39, 0.46, 0.64, 0.80),
}


def powers(values: FloatArray, degree: int) -> FloatArray:
    """(n, degree * k) powers of each of k features, without products of features."""
    return np.hstack([values**power for power in range(1, degree + 1)])


def polynomial(degree: int) -> Pipeline:
    """Least squares on powers (section 3): with products, 1,832 rows would be fitted exactly from n 3 on."""
    step = FunctionTransformer(powers, kw_args={"degree": degree})
    return make_pipeline(imputer(), StandardScaler(), step, LinearRegression())


def forest(seed: int = 0) -> Pipeline:
    """The forest of limsi-forest.yaml: 100 trees, 5 rows in a leaf, all features in every split."""
    return make_pipeline(
        imputer(), RandomForestRegressor(n_estimators=100, min_samples_leaf=5, n_jobs=2, random_state=seed)
    )


METHODS: Mapping[str, Callable[[], Pipeline]] = {
    "linear": partial(polynomial, 1),
    **{f"polynomial, n {degree}": partial(polynomial, degree) for degree in (2, 3, 4)},
    "forest": forest,
}


def errors(gold: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    return mean_absolute_error(gold, predicted), root_mean_squared_error(gold, predicted)


def fitted_errors(
    pipeline: Pipeline, features: pd.DataFrame, scores: FloatArray, train: Rows, held_out: Rows
) -> tuple[float, float]:
    pipeline.fit(features.iloc[train], scores[train])
    return errors(scores[held_out], pipeline.predict(features.iloc[held_out]))


def show_methods(features: pd.DataFrame, scores: FloatArray) -> None:
    everything, folds = np.arange(len(scores)), make_folds(len(scores), 10, scheme="contiguous")
    print(f"{'method':18s}train: MAE  RMSE  folds: MAE  RMSE  paper: train MAE  RMSE  test MAE  RMSE")
    for name, make in METHODS.items():
        seen = fitted_errors(make(), features, scores, everything, everything)
        unseen = np.mean([fitted_errors(make(), features, scores, *fold) for fold in folds], axis=0)
        theirs = PUBLISHED[name]
        print(
            f"{name:18s}{seen[0]:10.2f}{seen[1]:6.2f}{unseen[0]:12.2f}{unseen[1]:6.2f}"
            f"{theirs[0]:18.2f}{theirs[1]:6.2f}{theirs[2]:10.2f}{theirs[3]:6.2f}"
        )


def show_oracle(features: pd.DataFrame, scores: FloatArray, hter: FloatArray, divisions: int) -> None:
    """The gain in MAE and RMSE by HTER as a feature."""
    gains = []
    for seed in range(divisions):
        order = np.random.default_rng(seed).permutation(len(scores))
        division = order[HELD_OUT:], order[:HELD_OUT]
        plain = fitted_errors(forest(seed), features, scores, *division)
        oracle = fitted_errors(forest(seed), features.assign(hter=hter), scores, *division)
        gains.append(np.subtract(plain, oracle))
    (mae, rmse), spread = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1)
    print(f"HTER as a feature, {divisions} divisions of {len(scores) - HELD_OUT:,} and {HELD_OUT} rows:")
    print(f"MAE -{mae:.3f} (sd {spread[0]:.3f}), RMSE -{rmse:.3f} (sd {spread[1]:.3f}); paper -.10 and -.12")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--divisions", type=int, default=10)
    given = parser.parse_args()
    experiment = load(EXPERIMENT, data_root=given.data_root)
    data = prepare(check(experiment), given.cache)
    labels = load(EXPERIMENT, data_root=given.data_root, overrides=["dataset.label=hter"])
    hter = scores_of(read_dataset(labels).split("train"))
    features = data.training_table()
    show_methods(features, data.scores)
    show_oracle(features, data.scores, hter, given.divisions)


if __name__ == "__main__":
    main()
