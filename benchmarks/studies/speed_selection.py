"""Time of exhaustive search, forward and backward selection against plain refitting.

Run: python benchmarks/studies/speed_selection.py [--data-root DIR] [--threads N]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler

from features.basics.array_types import FloatArray
from qe.learning.selectors.greedy import BackwardElimination, ForwardSelection, splits
from qe.statistics.metric import METRICS
from qe_papers.selectors.subset_search import SubsetSearch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data-root", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data"
    )
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    root = arguments.data_root / "wmt12-qe"
    X = np.loadtxt(root / "baseline_features" / "training.tsv")
    y = np.loadtxt(root / "training_set_annotations" / "target_system.effort")
    per_token = X[:, 3:5] / X[:, :2]
    X = StandardScaler().fit_transform(np.column_stack([X, per_token]))
    exhaustive(X, y, arguments.threads)
    paths(X, y)


def exhaustive(X: FloatArray, y: FloatArray, threads: int) -> None:
    """All subsets of 19 features; the alternative refits scikit-learn's ridge for some of them."""
    for metric in ("delta_avg", "mae"):
        for one_split in (True, False):
            SubsetSearch("exhaustive", metric, n_jobs=threads).fit(X[:200, :5], y[:200])  # compiles
            search = SubsetSearch("exhaustive", metric, one_split=one_split, n_jobs=threads)
            wall, cpu = timed(lambda: search.fit(X, y))  # noqa: B023
            naive = 2**19 * naive_subset(X, y, metric, one_split)
            kept = np.flatnonzero(search.get_support()) + 1
            print(f"2^19 subsets, {metric}, {'one split' if one_split else '5 folds'}: {wall:.0f} s wall, "
                  f"{cpu:.0f} s CPU on {threads} thread(s) (at most 1800); scikit-learn {naive:.0f} s CPU by "
                  f"extrapolation, ratio {cpu / naive:.4f}; best {search.score_:.4f} with {kept.tolist()}",
                  flush=True)  # fmt: skip


def naive_subset(X: FloatArray, y: FloatArray, metric: str, one_split: bool) -> float:
    """CPU seconds per subset."""
    parts, judge, rng = splits(len(y), 5, one_split), METRICS.get(metric)(), np.random.default_rng(0)
    gold = y[np.concatenate([held for _, held in parts])]

    def run() -> None:
        for _ in range(100):
            columns = np.flatnonzero(rng.random(X.shape[1]) < 0.5)
            predicted = [Ridge(1.0).fit(X[t][:, columns], y[t]).predict(X[h][:, columns]) for t, h in parts]
            judge.score(gold, np.concatenate(predicted))

    return timed(run)[1] / 100


def paths(X: FloatArray, y: FloatArray) -> None:
    """1,832 x 460: 19 features and noisy products, against least squares per candidate."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, X.shape[1], size=(441, 2))
    noise = 0.5 * rng.normal(size=(len(y), 441))
    wide = np.column_stack([X, X[:, pairs[:, 0]] * X[:, pairs[:, 1]] + noise])
    for selector, size in ((ForwardSelection(max_features=15), 8), (BackwardElimination(), 400)):
        wall, cpu = timed(lambda: selector.fit(wide, y))  # noqa: B023
        steps = len(selector.path_) + 1
        parts = splits(len(y), selector.folds, selector.one_split)
        one = timed(lambda: [LinearRegression().fit(wide[t][:, :size], y[t]) for t, _ in parts])[1]  # noqa: B023
        naive = one * wide.shape[1] * steps
        name = f"{type(selector).__name__}, {wide.shape[0]} x {wide.shape[1]}"
        print(f"{name}, {steps} steps: {wall:.1f} s wall, "
              f"{cpu:.1f} s CPU; refits with {size} features would take {naive:.0f} s CPU, "
              f"ratio {cpu / naive:.4f}", flush=True)  # fmt: skip


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
