"""Tables 2 and 3 of DFKI at WMT12: classes of rounded scores against regression.

Avramidis 2012.

    python benchmarks/studies/wmt12_discretised.py
    python benchmarks/studies/wmt12_discretised.py --sets "#19" all

Out-of-fold predictions of the training segments, on the folds of experiments/wmt12/dfki-cfs-plsreg.yaml (10
of contiguous blocks of 31), the same for every cell; features and annotators are made by that file. (The
paper averages one split of 70 and 30 % and one of 90 and 10 %; it gives CA from 5 folds.) Of the paper's 22
feature sets, those that it describes, chosen inside every fold:

    #2   the 17 baseline features
    #16  correlation-based feature selection, greedy stepwise
    #18  correlation-based, best first: what all of 10 inner folds keep
    #19  the same: what 90 % of them keep
    all  the 102 of the paper's 266 that are here

Not here: #4 (gain ratio; the paper does not say how many features it kept) and the sets that it only numbers;
AUC but for the paper's. Learners have this project's defaults where the paper gives no parameters; its
naive Bayes has densities by locally weighted regression, ours are normal. The first figures are of the most
likely class, as in the paper; `expected` are those of the mean of the classes by their probabilities, from
the same models. CA: share of segments in the class predicted, in %; lowest and highest prediction. Beside
these, all rows of the paper of the algorithm and interval, with their feature sets, and for regression its
row of the same feature set; both tables are whole. Last, what the classifiers with the lowest RMSE (chosen on
these very folds, in their favour) have more than PLS: the difference, its 95 % interval and p-value as `qe
evaluate` gives them.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from features.baseline17 import COLUMNS
from features.basics.array_types import FloatArray
from features.storage.cache_folder import default_cache
from qe.config.experiment import load
from qe.data.dataset import LabelScale
from qe.data.folds import Fold
from qe.evaluation.evaluate import evaluate
from qe.models.pipeline import Candidate
from qe.statistics.settings import SignificanceSettings
from qe.training.check import check
from qe.training.preparation import prepare

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "experiments" / "wmt12" / "dfki-cfs-plsreg.yaml"
SCALE = LabelScale("effort", 1, 5, True)
METRICS = ("rmse", "mae", "delta_avg")
BASELINE = [column.name for column in COLUMNS]

WEKA = {"interval": 0.25, "locally_predictive": True}  # as in dfki-cfs-plsreg.yaml
BEST_FIRST = {"kind": "cfs", "search": "best_first", **WEKA}
SETS: Mapping[str, tuple[str, dict[str, Any]]] = {  # selector and its parameters
    "#2": ("none", {}),
    "#16": ("cfs", {"search": "greedy_stepwise", **WEKA}),
    "#18": ("fold_frequency", {"selector": BEST_FIRST, "folds": 10, "frequency": 1.0}),
    "#19": ("fold_frequency", {"selector": BEST_FIRST, "folds": 10, "frequency": 0.9}),
    "all": ("none", {}),
}
INTERVALS = (0.25, 0.5, 0.7, 1.0)
CLASSIFIERS = {"Tree": "tree", "SVM": "svm", "kNN": "k_neighbours", "Naive": "naive_bayes"}
# One tree is grown until its leaves are pure, on the columns as learners get them.
TREE = make_pipeline(*Candidate("mean").pipeline(0)[:-1], DecisionTreeRegressor(random_state=0))
REGRESSORS: Mapping[str, Any] = {
    "PLS": Candidate("pls").pipeline(0),
    "Lasso": Candidate("lasso").pipeline(0),
    "Linear": Candidate("ridge", {"alpha": 1e-6}).pipeline(0),  # least squares; columns may be collinear
    "MARS": Candidate("mars").pipeline(0),
    "Tree": TREE,
    "mean": Candidate("mean").pipeline(0),
}

# Table 2: feature set, CA, AUC, RMSE, MAE, lowest and highest prediction.
CLASSIFIED: Mapping[tuple[str, float], Sequence[tuple[str, float, float, float, float, float, float]]] = {
    ("Tree", 0.25): [
        ("#17, #20", 15.4, 54.1, 0.84, 0.67, 1.5, 5.0),
        ("#23", 14.6, 53.5, 0.85, 0.68, 2.0, 5.0),
        ("#12", 13.9, 52.0, 0.86, 0.69, 1.8, 5.0),
        ("#4", 14.5, 53.7, 0.86, 0.69, 2.0, 5.0),
    ],
    ("SVM", 0.25): [("#16", 16.0, 60.4, 0.86, 0.69, 3.2, 3.2)],
    ("kNN", 0.25): [("#22", 12.3, 55.5, 1.00, 0.78, 2.0, 5.0)],
    ("Tree", 0.5): [("#21", 22.7, 54.6, 0.87, 0.69, 2.0, 5.0)],
    ("SVM", 0.5): [("#19", 22.4, 60.2, 0.91, 0.73, 2.8, 5.0)],
    ("kNN", 0.5): [("#12", 20.0, 54.7, 0.98, 0.78, 2.2, 5.0)],
    ("Naive", 0.5): [("#6", 21.2, 59.4, 0.99, 0.76, 1.2, 5.0)],
    ("Tree", 0.7): [("#9", 32.7, 53.3, 0.89, 0.71, 3.5, 4.9)],
    ("kNN", 0.7): [("#12", 28.2, 56.1, 0.93, 0.73, 2.5, 4.9)],
    ("SVM", 0.7): [("#18", 30.9, 55.6, 0.97, 0.77, 3.5, 4.2)],
    ("Tree", 1.0): [("#22", 40.3, 55.7, 0.90, 0.71, 2.0, 5.0)],
    ("kNN", 1.0): [("#22", 40.9, 59.1, 0.96, 0.76, 2.5, 5.0)],
    ("Naive", 1.0): [("#23", 41.0, 65.5, 1.02, 0.78, 1.2, 5.0)],
    ("SVM", 1.0): [("#6", 36.6, 51.1, 1.02, 0.84, 3.0, 4.0)],
}
# Table 3: RMSE, MAE, lowest and highest prediction.
REGRESSED: Mapping[tuple[str, str], tuple[float, float, float, float]] = {
    ("#19", "PLS"): (0.86, 0.69, 2.5, 4.3),
    ("#19", "Lasso"): (0.86, 0.68, 2.7, 4.4),
    ("#19", "Linear"): (0.86, 0.68, 2.6, 4.5),
    ("#19", "MARS"): (0.86, 0.68, 2.6, 4.7),
    ("#18", "PLS"): (0.86, 0.69, 2.7, 4.4),
    ("#18", "Linear"): (0.86, 0.69, 2.8, 4.4),
    ("#18", "Lasso"): (0.86, 0.69, 2.8, 4.4),
    ("#16", "MARS"): (0.87, 0.69, 2.4, 4.6),
    ("#18", "MARS"): (0.86, 0.69, 2.4, 4.5),
    ("#4", "MARS"): (0.86, 0.69, 3.4, 4.5),
    ("#16", "PLS"): (0.87, 0.70, 2.1, 4.8),
    ("#4", "PLS"): (0.87, 0.70, 2.1, 5.4),
    ("#4", "Linear"): (0.88, 0.70, 2.4, 4.8),
    ("#16", "Linear"): (0.88, 0.70, 1.4, 4.9),
    ("#4", "Lasso"): (0.88, 0.70, 1.9, 5.3),
    ("#2", "MARS"): (0.90, 0.72, 3.0, 4.5),
    ("#16", "Lasso"): (0.90, 0.71, 2.7, 4.5),
    ("#2", "Linear"): (0.90, 0.72, 3.0, 4.0),
    ("#2", "Lasso"): (0.90, 0.72, 3.0, 4.0),
    ("#2", "PLS"): (0.90, 0.73, 3.0, 3.9),
    ("#21", "Tree"): (1.08, 0.86, 1.5, 5.0),
    ("#19", "Tree"): (1.19, 0.96, 1.6, 5.0),
    ("#16", "Tree"): (1.23, 0.98, 1.6, 5.0),
    ("#18", "Tree"): (1.25, 0.98, 1.4, 5.0),
}

Tables = Sequence[tuple[pd.DataFrame, pd.DataFrame]]  # features of a fold's training and held-out rows


def selected(name: str, features: pd.DataFrame, scores: FloatArray, folds: Sequence[Fold]) -> Tables:
    """The columns of a feature set, chosen on the training rows of every fold."""
    if name == "#2":
        features = features[BASELINE]
    tables = [(features.iloc[train], features.iloc[held_out]) for train, held_out in folds]
    kind, params = SETS[name]
    if kind == "none":
        return tables
    chosen = []
    for (own, other), (train, _) in zip(tables, folds, strict=True):
        selection = Candidate("mean", {}, kind, params).pipeline(0)[:-1].fit(own, scores[train])
        chosen.append((selection.transform(own), selection.transform(other)))
    return chosen


def regressed(model: Any, tables: Tables, scores: FloatArray, folds: Sequence[Fold]) -> FloatArray:
    """(n,) predictions by models that did not see the row."""
    predicted = np.full(len(scores), np.nan)
    for (own, other), (train, held_out) in zip(tables, folds, strict=True):
        predicted[held_out] = clone(model).fit(own, scores[train]).predict(other)
    return predicted


def classified(
    classifier: str, interval: float, tables: Tables, scores: FloatArray, folds: Sequence[Fold]
) -> tuple[FloatArray, FloatArray]:
    """(n,) the most likely classes, and the expected values, of the same models."""
    candidate = Candidate("discretised", {"classifier": classifier, "interval": interval})
    likely, expected = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    for (own, other), (train, held_out) in zip(tables, folds, strict=True):
        model = candidate.pipeline(0).fit(own, scores[train])
        likely[held_out] = model.set_params(learn__output="most_likely").predict(other)
        expected[held_out] = model.set_params(learn__output="expected").predict(other)
    return likely, expected


def accuracy(scores: FloatArray, likely: FloatArray, interval: float) -> float:
    """Share of segments in the class predicted, in %; halves of an interval are rounded up."""
    return 100 * float(np.mean(np.floor(scores / interval + 0.5) == np.round(likely / interval)))


def cells(tables: Tables, scores: FloatArray, folds: Sequence[Fold]) -> dict[str, FloatArray]:
    """System -> (n,) out-of-fold predictions; classifiers also as `expected`."""
    predictions = {name: regressed(each, tables, scores, folds) for name, each in REGRESSORS.items()}
    for interval in INTERVALS:
        for name, classifier in CLASSIFIERS.items():
            likely, expected = classified(classifier, interval, tables, scores, folds)
            predictions[f"{name} {interval}"] = likely
            predictions[f"{name} {interval} expected"] = expected
    return predictions


def show(name: str, scores: FloatArray, predictions: Mapping[str, FloatArray]) -> dict[str, float]:
    """Prints the table of a feature set; the RMSE of every classifier."""
    report = evaluate(scores, predictions, SCALE, SignificanceSettings(samples=0), metrics=METRICS)
    figures = {system: [report.score(system, metric) for metric in METRICS] for system in predictions}
    print(f"{'':20s} | {'most likely class':41s} | {'expected':22s} | paper")
    header = "  RMSE    MAE DeltaAvg"
    print(
        f"{'':12s}interval |    CA {header}  predictions | {header} | {'':9s}   CA   AUC   RMSE    MAE  range"
    )
    for interval in INTERVALS:
        for algorithm in CLASSIFIERS:
            system = f"{algorithm} {interval}"
            share = f"{accuracy(scores, predictions[system], interval):5.1f}"
            line = f"{algorithm:12s}{interval:8.2f} | {share} {three(figures[system])}  "
            line += f"{span(predictions[system])} | {three(figures[f'{system} expected'])} | "
            paper, *further = [
                classes_of_paper(row) for row in CLASSIFIED.get((algorithm, interval), [])
            ] or [""]
            print(f"{line}{paper}".rstrip())
            for row in further:
                print(f"{'':20s} | {'':41s} | {'':22s} | {row}")
    for algorithm in REGRESSORS:
        line = f"{algorithm:20s} | {'':5s} {three(figures[algorithm])}  {span(predictions[algorithm])} | "
        line += f"{'':22s} | "
        if (name, algorithm) in REGRESSED:
            rmse, mae, low, high = REGRESSED[name, algorithm]
            line += f"{name:9s}{'':11s}  {rmse:5.2f}  {mae:5.2f}  {low} - {high}"
        print(line.rstrip())
    return {system: values[0] for system, values in figures.items() if system not in REGRESSORS}


def classes_of_paper(row: tuple[str, float, float, float, float, float, float]) -> str:
    feature_set, share, area, rmse, mae, low, high = row
    return f"{feature_set:9s}{share:5.1f} {area:5.1f}  {rmse:5.2f}  {mae:5.2f}  {low} - {high}"


def three(values: Sequence[float]) -> str:
    rmse, mae, delta_avg = values
    return f"{rmse:6.3f} {mae:6.3f} {delta_avg:8.3f}"


def span(predicted: FloatArray) -> str:
    return f"{predicted.min():4.2f} - {predicted.max():4.2f}"


def show_best(
    scores: FloatArray, predictions: Mapping[str, FloatArray], rmse: Mapping[str, float], samples: int
) -> None:
    """The classifiers of the lowest RMSE, by classes and by expected values, less PLS."""
    by_class = min((system for system in rmse if "expected" not in system), key=lambda s: rmse[s])
    by_mean = min((system for system in rmse if "expected" in system), key=lambda s: rmse[s])
    compared = {system: predictions[system] for system in (by_class, by_mean, "PLS")}
    report = evaluate(
        scores, compared, SCALE, SignificanceSettings(samples=samples), baselines=("PLS",), metrics=METRICS
    )
    print("less PLS                metric      difference   95 % interval        p   (Holm)")
    for system in (by_class, by_mean):
        for metric in METRICS:
            outcome = report.comparison(system, "PLS", metric)
            low, high = outcome.ci
            print(
                f"{system:24s}{metric:10s}     {outcome.result.difference:+.4f}   [{low:+.4f}, {high:+.4f}]"
                f"  {outcome.result.p:.4f} ({outcome.p_corrected:.4f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--samples", type=int, default=2000, help="of the tests")
    given = parser.parse_args()
    data = prepare(check(load(EXPERIMENT, data_root=given.data_root)), given.cache)
    features = data.training_table()  # no family of these learns from labels
    scores, folds = data.scores, data.first_folds
    print(f"{len(scores):,} segments, {len(folds)} folds; labels' deviation {scores.std():.3f}")
    for name in given.sets:
        tables = selected(name, features, scores, folds)
        counts = sorted(own.shape[1] for own, _ in tables)
        print(f"\n{name}: {counts[0]} to {counts[-1]} features a fold", flush=True)
        predictions = cells(tables, scores, folds)
        rmse = show(name, scores, predictions)
        show_best(scores, predictions, rmse, given.samples)


if __name__ == "__main__":
    main()
