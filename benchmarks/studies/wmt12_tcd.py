"""Table 2 of TCD at WMT12, computed again: feature sets times four Weka learners.

Moreau and Vogel 2012.

    python benchmarks/studies/wmt12_tcd.py

Means over 10 contiguous folds, as in the paper (`--by block`: over folds of blocks of 31 segments), the
same folds for every cell; features are extracted once, by experiments/wmt12/tcd-all.yaml (`--baseline`: B
alone, by tcd-resources-only.yaml, in a minute).

    B    the 17 baseline features        L   lengths of source and target, two of them
    M2   similarities to the corpus: 32 of the paper's 33

M1 (M2 and 12 measures on Google Books n-grams) cannot be had: the paper's rows with M1 stand for themselves,
and L + M2 is beside its L + M1. Learners have Weka's default parameters: SMOreg a linear kernel, C 1 and
epsilon .001 on features and labels brought to 0 .. 1; linear regression the elimination of attributes by
Akaike's criterion, as in the models of M5P. Below, what M2 adds to B: the difference, its 95 % interval and
p-value as `qe evaluate` gives them, Holm over the learners.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from features.baseline17 import COLUMNS
from features.basics.array_types import FloatArray
from features.storage.cache_folder import default_cache
from qe.config.experiment import load
from qe.data.dataset import LabelScale
from qe.data.folds import Fold
from qe.evaluation.evaluate import Report, evaluate
from qe.learning.elimination import fit_by_elimination
from qe.learning.learner import LEARNERS
from qe.learning.learners.checks import rows_to_predict, training_data
from qe.models.pipeline import Candidate, imputer
from qe.statistics.family import correct
from qe.statistics.metric import METRICS as METRIC_KINDS
from qe.statistics.settings import SignificanceSettings
from qe.training.check import check
from qe.training.preparation import prepare

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments" / "wmt12"
SCALE = LabelScale("effort", 1, 5, True)
METRICS = ("delta_avg", "spearman", "mae", "rmse")
BASELINE = [column.name for column in COLUMNS]
LENGTHS = ["1001_source_tokens", "1002_target_tokens"]
METHODS = ("SVM", "Pace Reg.", "Lin. Reg.", "M5P")

# Table 2: DeltaAvg, Spearman, MAE, RMSE.
PUBLISHED: Mapping[tuple[str, str], tuple[float, float, float, float]] = {
    ("B", "SVM"): (0.398, 0.445, 0.616, 0.761),
    ("B", "Pace Reg."): (0.399, 0.458, 0.615, 0.757),
    ("L + M1", "SVM"): (0.401, 0.439, 0.615, 0.764),
    ("L + M1", "Lin. Reg."): (0.408, 0.441, 0.610, 0.757),
    ("B", "Lin. Reg."): (0.408, 0.461, 0.614, 0.754),
    ("L + M1", "M5P"): (0.409, 0.441, 0.610, 0.757),
    ("B + M2", "SVM"): (0.409, 0.447, 0.605, 0.753),
    ("B + M2", "Pace Reg."): (0.417, 0.466, 0.603, 0.744),
    ("B + M2", "M5P"): (0.419, 0.472, 0.601, 0.746),
    ("L + M1", "Pace Reg."): (0.426, 0.454, 0.603, 0.751),
    ("B + M2", "Lin. Reg."): (0.428, 0.481, 0.598, 0.740),
    ("B", "M5P"): (0.434, 0.487, 0.586, 0.729),
    ("B + M1", "SVM"): (0.444, 0.489, 0.585, 0.734),
    ("B + M1", "Pace Reg."): (0.453, 0.505, 0.584, 0.724),
    ("B + M1", "Lin. Reg."): (0.456, 0.507, 0.583, 0.724),
    ("B + M1", "M5P"): (0.457, 0.508, 0.583, 0.724),
}
COUNTERPART = {"B": "B", "L + M2": "L + M1", "B + M2": "B + M2"}


class EliminatedLeastSquares(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Weka's LinearRegression by default: collinear attributes go, then useless ones."""

    def fit(self, X: Any, y: Any) -> Self:
        X, y = training_data(self, X, y)
        columns, rows = np.arange(X.shape[1]), np.arange(len(y))
        self.kept_, self.coef_, self.intercept_ = fit_by_elimination(X, y, columns, rows)
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.asarray(rows_to_predict(self, X)[:, self.kept_] @ self.coef_ + self.intercept_)


def pipeline(method: str, scores: FloatArray) -> Pipeline:
    """The learner, unfitted, with Weka's default parameters.

    `scores` (n,) are the labels it will learn from.

    SMOreg brings labels to 0 .. 1 and predictions back: the same as their range times both C and epsilon.
    """
    if method == "SVM":
        span = float(np.ptp(scores))
        svm = LEARNERS.get("svr_linear")().estimator(C=span, epsilon=0.001 * span)
        return make_pipeline(imputer(), MinMaxScaler(), svm)
    if method == "Lin. Reg.":
        return make_pipeline(imputer(), EliminatedLeastSquares())
    return Candidate({"Pace Reg.": "pace", "M5P": "m5p"}[method]).pipeline(0)


def feature_sets(columns: Sequence[str]) -> dict[str, list[str]]:
    """Name -> columns: all that are not among the 17 are measures."""
    measures = [column for column in columns if column not in BASELINE]
    more = {"L + M2": [*LENGTHS, *measures], "B + M2": [*BASELINE, *measures]} if measures else {}
    return {"B": BASELINE, **more}


def out_of_fold(method: str, features: pd.DataFrame, scores: FloatArray, folds: Sequence[Fold]) -> FloatArray:
    """(n,) predictions by models that did not see the row."""
    predicted = np.full(len(scores), np.nan)
    for train, held_out in folds:
        model = pipeline(method, scores[train]).fit(features.iloc[train], scores[train])
        predicted[held_out] = model.predict(features.iloc[held_out])
    return predicted


def cells(
    features: pd.DataFrame, scores: FloatArray, folds: Sequence[Fold]
) -> dict[tuple[str, str], FloatArray]:
    """(feature set, method) -> (n,) out-of-fold predictions."""
    return {
        (name, method): out_of_fold(method, features[columns], scores, folds)
        for name, columns in feature_sets(list(features.columns)).items()
        for method in METHODS
    }


def means(scores: FloatArray, predicted: FloatArray, folds: Sequence[Fold]) -> list[float]:
    """The four metrics, each as the mean of its values in the held-out rows of the folds."""
    kinds = [METRIC_KINDS.get(name)() for name in METRICS]
    return [
        float(np.mean([kind.score(scores[rows], predicted[rows]) for _, rows in folds])) for kind in kinds
    ]


def show(
    scores: FloatArray, predictions: Mapping[tuple[str, str], FloatArray], folds: Sequence[Fold]
) -> None:
    """Our rows beside the paper's of the same learner, sorted by our DeltaAvg."""
    figures = {cell: means(scores, predicted, folds) for cell, predicted in predictions.items()}
    header = "DeltaAvg  Spearman    MAE   RMSE"
    print(f"{'features':9s}{'method':11s}{header}    paper:   {header}")
    for (name, method), ours in sorted(figures.items(), key=lambda item: item[1]):
        other = COUNTERPART[name]
        print(f"{name:9s}{method:11s}{line(ours)}    {other:9s}{line(PUBLISHED[other, method])}")
    for (name, method), theirs in PUBLISHED.items():
        if name == "B + M1":
            print(f"{'':52s}    {name:9s}{line(theirs)}  {method}")


def line(values: Sequence[float]) -> str:
    delta_avg, spearman, mae, rmse = values
    return f"{delta_avg:8.3f}  {spearman:8.3f}  {mae:5.3f}  {rmse:5.3f}"


def show_gain(scores: FloatArray, predictions: Mapping[tuple[str, str], FloatArray], samples: int) -> None:
    """B + M2 less B, learner by learner."""
    reports = {
        method: evaluate(
            scores,
            {name: predictions[name, method] for name in ("B", "B + M2")},
            SCALE,
            SignificanceSettings(samples=samples),
            baselines=("B",),
            metrics=("delta_avg", "mae"),
        )
        for method in METHODS
    }
    print(f"\n{'B + M2 less B':16s}metric      difference   95 % interval        p   (Holm)")
    for metric in ("delta_avg", "mae"):
        show_differences(reports, metric)


def show_differences(reports: Mapping[str, Report], metric: str) -> None:
    outcomes = {method: report.comparison("B + M2", "B", metric) for method, report in reports.items()}
    holm = correct(np.array([outcome.result.p for outcome in outcomes.values()]), "holm")
    for (method, outcome), corrected in zip(outcomes.items(), holm, strict=True):
        low, high = outcome.ci
        print(
            f"{method:16s}{metric:10s}     {outcome.result.difference:+.4f}   [{low:+.4f}, {high:+.4f}]"
            f"  {outcome.result.p:.4f} ({corrected:.4f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument(
        "--by", choices=["contiguous", "block"], default="contiguous", help="how folds are made"
    )
    parser.add_argument("--baseline", action="store_true", help="the 17 features alone")
    parser.add_argument("--samples", type=int, default=2000, help="of the tests")
    given = parser.parse_args()
    file = EXPERIMENTS / ("tcd-resources-only.yaml" if given.baseline else "tcd-all.yaml")
    experiment = load(file, data_root=given.data_root, overrides=[f"split.by={given.by}"])
    data = prepare(check(experiment), given.cache)
    features = data.training_table()  # no family of these learns from labels
    predictions = cells(features, data.scores, data.first_folds)
    sizes = ", ".join(f"{name} {len(them)}" for name, them in feature_sets(list(features.columns)).items())
    print(f"{len(data.scores):,} segments, {len(data.first_folds)} folds ({given.by}); features: {sizes}")
    show(data.scores, predictions, data.first_folds)
    if not given.baseline:
        show_gain(data.scores, predictions, given.samples)


if __name__ == "__main__":
    main()
