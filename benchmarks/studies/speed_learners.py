"""Learners on WMT12's official 17 features, and M5P on wide data: time and quality.

Quality is that on held-out rows.

Run: python benchmarks/studies/speed_learners.py [--data-root DIR] [NAME ...]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from features.basics.array_types import FloatArray
from qe.learning.learner import LEARNERS
from qe.statistics.metric import METRICS

# Sensible values where the defaults are not meant for 17 standardised features.
SETTINGS = {"svr_rbf": {"C": 4.0, "gamma": 0.01, "epsilon": 0.2}, "kernel_ridge": {"gamma": 0.02}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="learners; default: all")
    parser.add_argument(
        "--data-root", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data"
    )
    arguments = parser.parse_args()
    root = arguments.data_root / "wmt12-qe"
    X = np.loadtxt(root / "baseline_features" / "training.tsv")
    y = np.loadtxt(root / "training_set_annotations" / "target_system.effort")
    wide_m5p(X, y)
    table(X, y, arguments.names or list(LEARNERS.names))


def wide_m5p(X: FloatArray, y: FloatArray) -> None:
    """M5P on 1,832 x 500: the 17 features and products of pairs of them, with noise."""
    rng = np.random.default_rng(0)
    Z = StandardScaler().fit_transform(X)
    pairs = rng.integers(0, 17, size=(483, 2))
    wide = np.column_stack([Z, Z[:, pairs[:, 0]] * Z[:, pairs[:, 1]] + 0.5 * rng.normal(size=(len(y), 483))])
    learner = LEARNERS.get("m5p")().estimator()
    clone(learner).fit(wide[:100, :20], y[:100])  # compiles
    ours = seconds(clone(learner), wide, y)
    theirs = seconds(DecisionTreeRegressor(min_samples_leaf=2), wide, y)
    print(f"m5p, {wide.shape[0]} x {wide.shape[1]}: {ours:.2f} s CPU (at most 10), "
          f"{ours / theirs:.2f} x scikit-learn's plain regression tree ({theirs:.2f} s)\n")  # fmt: skip


def table(X: FloatArray, y: FloatArray, names: list[str]) -> None:
    print(f"{'learner':24} {'DeltaAvg':>8} {'MAE':>6} {'fit s':>7} {'/ svr_rbf':>9}")
    reference = cross_validate("svr_rbf", X, y)[2]
    for name in names:
        delta_avg, mae, fit = cross_validate(name, X, y)
        print(f"{name:24} {delta_avg:8.3f} {mae:6.3f} {fit:7.3f} {fit / reference:9.2f}", flush=True)


def cross_validate(name: str, X: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """DeltaAvg and MAE over 10 folds of blocks of 31 segments; CPU seconds of a fit."""
    learner = LEARNERS.get(name)()
    estimator = learner.estimator(**SETTINGS.get(name, {}))
    model = make_pipeline(StandardScaler(), estimator) if learner.scale else estimator
    clone(model).fit(X[:100], y[:100])  # compiles
    fold, predicted, spent = np.arange(len(y)) // 31 % 10, np.empty(len(y)), 0.0
    for f in range(10):
        fitted = clone(model)
        spent += seconds(fitted, X[fold != f], y[fold != f])
        predicted[fold == f] = fitted.predict(X[fold == f])
    scores = [METRICS.get(metric)().score(y, predicted) for metric in ("delta_avg", "mae")]
    return scores[0], scores[1], spent / 10


def seconds(model: BaseEstimator, X: FloatArray, y: FloatArray) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.process_time() - start


if __name__ == "__main__":
    main()
