"""Coverage of 90 % prediction intervals on WMT12, beside intervals of constant width.

On the training set.

Cross-validation in contiguous blocks, repeated over seeds. Every fold gets intervals by what the others give:
cross-conformal; split-conformal (one of the other folds calibrates); and two alternatives on the same folds:
constant width (the quantile of absolute errors) and normal errors (1.645 times their root mean square):

    python benchmarks/studies/intervals_wmt12.py --data-root ../shared/data [--experiment baseline] \\
        [--repeats 5]

`--experiment best-own` needs its features in the cache (minutes otherwise).
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.config import experiment
from qe.data.dataset import LabelScale
from qe.data.folds import make_folds
from qe.evaluation.coverage import Coverage, coverage
from qe.models.intervals import CalibrationRows, Intervals, conformal_quantile, cross_conformal
from qe.models.pipeline import Candidate, fit
from qe.resources.bundle_source import default_cache
from qe.training.check import check
from qe.training.preparation import Prepared, prepare

ROOT = Path(__file__).resolve().parents[2]
LEVEL = 0.9
Rows = NDArray[np.int64]
KINDS = ("cross-conformal", "split-conformal", "constant width", "normal errors")
# Fixed, so that nothing is chosen on the folds: the best of an outside grid (golden/svr); the file's own.
CANDIDATES = {
    "baseline": Candidate("svr_rbf", {"C": 4, "gamma": 0.01, "epsilon": 0.2}),
    "best-own": Candidate("averaging"),
}


@dataclass(frozen=True)
class Fold:
    """One fold of a repeat: rows, features, predictions.

    The features' models were fitted without the rows.
    """

    rows: Rows
    features: FloatArray
    predicted: FloatArray


def folds_of(data: Prepared, candidate: Candidate, seed: int, folds: int) -> list[Fold]:
    """Every row predicted by a model that did not see its fold."""
    training, reached = data.training, []
    assert training.scores is not None
    for train, test in make_folds(len(training), folds, seed=seed, scheme="block"):
        own, other = data.extraction.fold(training, train, test)
        fitted = fit(candidate.pipeline(0), own, training.scores[train])
        predicted = data.dataset.scale.clip(np.asarray(fitted.predict(other), np.float64))
        reached.append(Fold(test, other.to_numpy(np.float64), predicted))
    return reached


@dataclass(frozen=True)
class Measured:
    """Coverage of all rows, and the lowest of three thirds by predicted error.

    The thirds are easy, middling and hard.
    """

    whole: Coverage
    worst_third: float


def measure(data: Prepared, folds: Sequence[Fold]) -> dict[str, Measured]:
    """Kind of interval -> coverage; every fold gets the bounds that the other folds give."""
    gold = data.training.scores
    assert gold is not None
    bounds = {kind: np.full((2, len(gold)), np.nan) for kind in KINDS}
    for number in range(len(folds)):
        for kind, each in fold_bounds(folds, number, gold, data.dataset.scale).items():
            bounds[kind][:, folds[number].rows] = each
    low, high = bounds["cross-conformal"]
    thirds = np.array_split(np.argsort(high - low, kind="stable"), 3)
    measured = {}
    for kind, (low, high) in bounds.items():
        inside = (low <= gold) & (gold <= high)
        worst = min(float(inside[rows].mean()) for rows in thirds)
        measured[kind] = Measured(coverage(gold, low, high, LEVEL), worst)
    return measured


def fold_bounds(
    folds: Sequence[Fold], number: int, gold: FloatArray, scale: LabelScale
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """The bounds of one fold's rows by each kind of interval, learned from the others."""
    test, others = folds[number], [fold for i, fold in enumerate(folds) if i != number]
    cross = conformal(others, gold, scale)
    calibration = others[number % len(others)]  # the next fold: each calibrates once
    rest = [fold for fold in others if fold is not calibration]
    split = conformal(rest, gold, scale).recalibrated(
        CalibrationRows(calibration.features, calibration.predicted, gold[calibration.rows])
    )
    errors = np.concatenate([np.abs(gold[fold.rows] - fold.predicted) for fold in others])
    widths = conformal_quantile(np.sort(errors), LEVEL), 1.6449 * float(np.sqrt(np.mean(errors**2)))
    listed = [intervals.bounds(test.features, test.predicted, LEVEL) for intervals in (cross, split)]
    listed += [(scale.clip(test.predicted - w), scale.clip(test.predicted + w)) for w in widths]
    return dict(zip(KINDS, listed, strict=True))


def conformal(folds: Sequence[Fold], gold: FloatArray, scale: LabelScale) -> Intervals:
    """Cross-conformal intervals from these folds alone."""
    ends = np.cumsum([len(fold.rows) for fold in folds])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    features = np.concatenate([fold.features for fold in folds])
    predicted = np.concatenate([fold.predicted for fold in folds])
    labels = np.concatenate([gold[fold.rows] for fold in folds])
    return cross_conformal(CalibrationRows(features, predicted, labels), places, scale, levels=())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--experiment", choices=CANDIDATES, default="baseline")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folds", type=int, default=10)
    arguments = parser.parse_args()
    path = ROOT / "experiments" / "wmt12" / f"{arguments.experiment}.yaml"
    data = prepare(check(experiment.load(path, data_root=arguments.data_root)), default_cache())
    listed = [
        measure(data, folds_of(data, CANDIDATES[arguments.experiment], seed, arguments.folds))
        for seed in range(arguments.repeats)
    ]
    print(f"{arguments.experiment}: {len(data.training):,} segments, {arguments.folds} folds of blocks, 90 %")
    print(f"{'':16} {'coverage':>9} {'95 % (seed 0)':>17} {'repeats':>14} {'worst third':>11} width ratio")
    reference = np.mean([repeat["constant width"].whole.width for repeat in listed])
    for kind in KINDS:
        first, shares = listed[0][kind].whole, [repeat[kind].whole.coverage for repeat in listed]
        width = float(np.mean([repeat[kind].whole.width for repeat in listed]))
        worst = float(np.mean([repeat[kind].worst_third for repeat in listed]))
        print(
            f"{kind:16} {np.mean(shares):9.4f} {f'[{first.ci[0]:.3f}, {first.ci[1]:.3f}]':>17} "
            f"{f'{min(shares):.3f}-{max(shares):.3f}':>14} {worst:11.3f} {width:5.3f} {width / reference:.3f}"
        )


if __name__ == "__main__":
    main()
