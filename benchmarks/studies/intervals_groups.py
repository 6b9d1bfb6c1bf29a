"""Prediction intervals with groups and weights: coverage overall, by label, by score.

Label bands, and fifths of scores.

WMT12: every fold of the 1,832 training segments by what the other folds give, the 17 official features.
MLQE-PE: intervals of train on dev, where labels have six judges, not three; decoder and surface features.

    python benchmarks/studies/intervals_groups.py --data-root ../shared/data [--pair en-de] [--label da]
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMRegressor

from features.basics.array_types import FloatArray, IntArray
from features.core.feature_set import FeatureSet
from features.core.tree_columns import numbers
from qe.data.dataset import LabelScale
from qe.data.folds import make_folds
from qe.data.formats.mlqe_pe import MlqePe
from qe.evaluation.coverage import Coverage, coverage
from qe.models.intervals import CalibrationRows, DensityRatio, Intervals, cross_conformal
from qe.models.taxonomy import Grouping

ROOT = Path(__file__).resolve().parents[2]
LEVELS = (0.5, 0.8, 0.9)
WMT12_EDGES, FOLDS = (2.0, 3.0, 4.0), 10


@dataclass(frozen=True)
class Task:
    """Rows with out-of-fold predictions, and new rows; `new_gold` where their labels are known."""

    features: FloatArray
    gold: FloatArray
    predicted: FloatArray
    held_out: list[IntArray]
    scale: LabelScale
    new: tuple[FloatArray, FloatArray]
    new_gold: FloatArray | None
    methods: Mapping[str, dict[str, Any]]

    def intervals(self, options: dict[str, Any]) -> Intervals:
        chosen = dict(options)
        if chosen.pop("shift", False):
            chosen["shift"] = DensityRatio.fit(self.features, self.predicted, *self.new)
        rows = CalibrationRows(self.features, self.predicted, self.gold, weights=chosen.pop("weights", None))
        return cross_conformal(rows, self.held_out, self.scale, levels=LEVELS, **chosen)


def learner() -> LGBMRegressor:
    return LGBMRegressor(
        n_estimators=150, learning_rate=0.05, num_leaves=7, min_child_samples=40,
        n_jobs=1, random_state=0, verbose=-1,
    )  # fmt: skip


def task(
    features: FloatArray, gold: FloatArray, new: FloatArray, scale: LabelScale, by: str, **rest: Any
) -> Task:
    """Fits the learner fold by fold, and once to all rows for the new ones."""
    folds = make_folds(len(gold), FOLDS, seed=0, scheme=by)  # type: ignore[arg-type]
    predicted = np.empty(len(gold))
    for train, test in folds:
        predicted[test] = learner().fit(features[train], gold[train]).predict(features[test])
    final = scale.clip(np.asarray(learner().fit(features, gold).predict(new)))
    held_out = [test for _, test in folds]
    return Task(features, gold, scale.clip(predicted), held_out, scale, (new, final), **rest)


def wmt12(data: Path) -> Task:
    features, new = (np.loadtxt(data / "baseline_features" / f"{name}.tsv") for name in ("training", "test"))
    gold = np.loadtxt(data / "training_set_annotations" / "target_system.effort")
    methods = {
        "none": {},
        "by prediction, 5 bands": {"grouping": Grouping("prediction")},
        "by label, 1-2-3-4-5": {"grouping": Grouping("label", edges=WMT12_EDGES)},
        "weighted to test": {"shift": True},
    }
    scale = LabelScale("effort", 1, 5, True)
    return task(features, gold, new, scale, "block", new_gold=None, methods=methods)


def mlqe(data: Path, pair: str, label: str) -> Task:
    dataset = MlqePe(pair=pair, label=label, text="tokenised").read(data)  # type: ignore[arg-type]
    families = FeatureSet.make([{"kind": "decoder"}, {"kind": "surface"}], None)
    train, dev = dataset.split("train"), dataset.split("dev")
    features, new = (numbers(families.extract(split.segments)) for split in (train, dev))
    assert train.scores is not None and train.annotators is not None
    weights = train.annotators**2.5
    methods: dict[str, dict[str, Any]] = {
        "none": {},
        "by prediction, 5 bands": {"grouping": Grouping("prediction")},
        "by label, 5 bands": {"grouping": Grouping("label")},
        "weighted to dev": {"shift": True},
        "row weights (judges^2.5)": {"weights": weights},
        "row weights, by label": {"weights": weights, "grouping": Grouping("label")},
    }
    return task(features, train.scores, new, dataset.scale, "random", new_gold=dev.scores, methods=methods)


def show(title: str, given: Task) -> None:
    print(f"\n{title}\n")
    print("| method | asked | held | width | by label band (lowest first) | by fifth of predictions |")
    print("| --- | ---: | ---: | ---: | --- | --- |")
    for name, options in given.methods.items():
        intervals = given.intervals(options)
        for entry in intervals.measured if given.new_gold is None else on_new(given, intervals):
            print(row(name, entry), flush=True)


def on_new(given: Task, intervals: Intervals) -> Sequence[Coverage]:
    assert given.new_gold is not None
    return [
        coverage(
            given.new_gold, *intervals.reached(*given.new, level), level,
            predicted=given.new[1], scale=given.scale,
        )
        for level in LEVELS
    ]  # fmt: skip


def row(name: str, entry: Coverage) -> str:
    bands = (
        " ".join(f"{band.coverage:.2f}".lstrip("0") for band in some)
        for some in (entry.by_label, entry.by_prediction)
    )
    held = f"{entry.coverage:.3f}".lstrip("0")
    return f"| {name} | {entry.level:g} | {held} | {entry.width:.2f} | " + " | ".join(bands) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--pair", default="en-de")
    parser.add_argument("--label", default="da")
    arguments = parser.parse_args()
    show("WMT12, held-out folds", wmt12(arguments.data_root / "wmt12-qe"))
    given = mlqe(arguments.data_root / "mlqe-pe", arguments.pair, arguments.label)
    show(f"MLQE-PE {arguments.pair} {arguments.label}, dev", given)


if __name__ == "__main__":
    main()
