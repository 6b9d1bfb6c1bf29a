"""Shapley values: CPU time per segment and error, closed form against sampling.

    python benchmarks/studies/speed_explanation.py [--segments 32]

Artificial features (17 and 250) of 1,832 training rows, the size of WMT12. Errors are root mean squares over
segments and features, as a share of the root mean square of the exact values; `sum` is the largest distance
between base plus contributions and the score.
"""

import argparse
import time
from typing import Any

import numpy as np

from features.basics.array_types import FloatArray
from qe.learning.learner import LEARNERS
from qe.models.attribution import Attribution, Sampling, attribution

LEARNERS_TRIED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("svr_rbf", {"C": 2.0, "epsilon": 0.15}),
    ("importance_weighted_svr", {}),
    ("averaging", {}),
    ("random_forest", {}),
    ("svr_poly", {}),
    ("k_neighbours", {}),
    ("mlp_ensemble", {}),
)


def data(k: int) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(1832 + 128, k))
    gold = rows[:, :8].sum(axis=1) / 4 + rows[:, 0] * rows[:, 1] / 2 + generator.normal(size=len(rows))
    return rows, gold


def timed(part: Attribution, rows: FloatArray) -> tuple[FloatArray, float]:
    """(values, CPU milliseconds per row), the second time: compiled and prepared."""
    part.values(rows[:1])
    started = time.process_time()
    values = part.values(rows)
    return values, 1000 * (time.process_time() - started) / len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=32)
    parser.add_argument("--learner", action="append")
    arguments = parser.parse_args()
    print("                                                             sampled, for comparison")
    print(f"{'learner':25}{'k':>4}  {'method':20}{'ms':>8}{'sum':>10}{'ms':>9}{'error':>8}{'ratio':>7}")
    for k in (17, 250):
        X, y = data(k)
        background, rows = X[:64], X[1832 : 1832 + arguments.segments]
        for name, params in LEARNERS_TRIED:
            if arguments.learner and name not in arguments.learner:
                continue
            learner = LEARNERS.get(name)().estimator(seed=0, **params).fit(X[:1832], y[:1832])
            part = attribution(learner, learner.predict, background)
            values, exact_time = timed(part, rows)
            off = np.abs(part.base + values.sum(axis=1) - learner.predict(rows)).max()
            sampled, sampled_time = timed(Sampling(learner.predict, background), rows)
            error = np.sqrt(np.mean((sampled - values) ** 2) / np.mean(values**2))
            shown = "" if part.method == "sampling" else f"{error:.1%}"
            print(
                f"{name:25}{k:4}  {part.method:20}{exact_time:8.2f}{off:10.1e}{sampled_time:9.2f}"
                f"{shown:>8}{sampled_time / exact_time:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
