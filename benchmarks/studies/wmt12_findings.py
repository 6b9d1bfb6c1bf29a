"""Findings of the WMT12 papers, tested again: paired differences of two runs.

On the training segments.

    python benchmarks/studies/wmt12_findings.py output/variants "m5p-all - sdllw-m5p" "dcu-svr - \\
        dcu-symc-constrained"
    python benchmarks/studies/wmt12_findings.py output/wmt12 --narrow best-own

`A - B` gives DeltaAvg and MAE of both runs' out-of-fold predictions, their difference, its 95 % interval and
p-value (paired bootstrap over segments, Holm over all differences asked for). `--narrow` draws a run's
predictions towards their mean and out again, and prints what each metric makes of it.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from features.basics.array_types import FloatArray
from qe.data.dataset import LabelScale
from qe.evaluation.evaluate import evaluate
from qe.statistics.family import correct
from qe.statistics.settings import SignificanceSettings

SCALE = LabelScale("effort", 1, 5, True)
METRICS = ("delta_avg", "mae")


def out_of_fold(folder: Path) -> tuple[FloatArray, FloatArray]:
    """Gold labels and predictions: those of the whole procedure where the run was nested."""
    table = pd.read_parquet(folder / "predictions.parquet")
    table = table[table["split"] == "train"]
    nested = "nested" in table and table["nested"].notna().all()
    return table["gold"].to_numpy(), table["nested" if nested else "predicted"].to_numpy()


def differences(runs: Path, pairs: list[str], samples: int) -> None:
    rows, p_values = [], []
    for pair in pairs:
        left, right = (name.strip() for name in pair.split(" - "))
        gold, one = out_of_fold(runs / left)
        again, other = out_of_fold(runs / right)
        assert np.array_equal(gold, again), f"{pair}: other segments"
        report = evaluate(
            gold,
            {left: one, right: other},
            SCALE,
            SignificanceSettings(samples=samples),
            baselines=(right,),
            metrics=METRICS,
        )
        for metric in METRICS:
            outcome = report.comparison(left, right, metric)
            low, high = outcome.ci
            values = report.score(left, metric), report.score(right, metric)
            rows.append((pair, metric, *values, outcome.result.difference, low, high))
            p_values.append(outcome.result.p)
    print(f"{'difference':44s} metric      first second  difference   95 % interval        p   (Holm)")
    for row, p, holm in zip(rows, p_values, correct(np.array(p_values), "holm"), strict=True):
        pair, metric, a, b, difference, low, high = row
        print(
            f"{pair:44s} {metric:10s} {a:6.3f} {b:6.3f}    {difference:+.4f}   [{low:+.4f}, {high:+.4f}]"
            f"  {p:.4f} ({holm:.4f})"
        )


def narrowed(runs: Path, name: str) -> None:
    gold, predicted = out_of_fold(runs / name)
    mean = predicted.mean()
    print(f"{name}: predictions drawn towards their mean ({mean:.3f}); labels' deviation {gold.std():.3f}")
    print("factor  interval of predictions  deviation  DeltaAvg    MAE   RMSE")
    for factor in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5):
        drawn = np.clip(mean + factor * (predicted - mean), 1, 5)
        report = evaluate(
            gold, {name: drawn}, SCALE, SignificanceSettings(samples=0), metrics=("delta_avg", "mae", "rmse")
        )
        scores = [report.score(name, metric) for metric in ("delta_avg", "mae", "rmse")]
        print(
            f"{factor:6.2f}  {drawn.min():10.2f} .. {drawn.max():4.2f}  {drawn.std():15.3f}"
            f"    {scores[0]:6.3f} {scores[1]:6.3f} {scores[2]:6.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, help="folder with output folders of `qe train`")
    parser.add_argument("pairs", nargs="*", metavar="'A - B'")
    parser.add_argument("--narrow", metavar="NAME")
    parser.add_argument("--samples", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.pairs:
        differences(arguments.runs, arguments.pairs, arguments.samples)
    if arguments.narrow:
        narrowed(arguments.runs, arguments.narrow)
