"""What every family of the linguistic layer adds to the features of an experiment, one elastic net throughout.

    python benchmarks/bench_linguistic.py                           # beside those of experiments/wmt12/best.yaml

The experiment's features are the base, as it has them: with its annotations, and with its families that learn from
labels fitted inside the folds (10 of contiguous blocks). The difference of DeltaAvg and of MAE that each family of the
layer makes beside them, and all of them together, has its 95 % interval and p-value by the paired bootstrap over
segments, Holm over the rows. The elastic net is that of experiments/wmt12/all-blackbox.yaml: nothing is chosen on these
folds.

The layer reads annotations of annotators/en and annotators/es (`experiments/wmt12/wlv-shef-fs.yaml` says how they are
trained), with hunspell's marks for Spanish.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from features.core.array_types import FloatArray
from features.core.cache_folder import default_cache
from qe.config.experiment import Experiment, load
from qe.evaluation.evaluate import Report, evaluate
from qe.models.pipeline import Candidate
from qe.training.candidates import search_candidates
from qe.training.preparation import prepare
from qe.training.search import Objective

ROOT = Path(__file__).resolve().parent.parent
METRICS = ("delta_avg", "mae")
LAYER: tuple[str | dict[str, Any], ...] = (
    "parts_of_speech",
    "dependency_trees",
    "constituent_trees",
    "parse_probabilities",
    "dependency_matches",
    "subjects",
    "agreement",
    "dangling_determiners",
    "deictics",
    {"kind": "entities", "sides": "target"},  # no treebank of English entities is at hand
    "misspellings",
    "grammar_checks",
)
LEARNER = {"kind": "elastic_net", "params": {"alpha": 0.05, "l1_ratio": 0.3}, "space": {}}


def changed(file: Path, data_root: Path, **changes: Any) -> Experiment:
    """The experiment of a file with other values of some keys."""
    overrides = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return load(file, data_root=data_root, overrides=overrides)


def layer_table(file: Path, data_root: Path, annotators: Path, cache: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """(n, k) the layer's features of the training segments, and the family of each column."""
    annotations = {"source": str(annotators / "en"), "target": f"{annotators / 'es'}+hunspell"}
    data = prepare(changed(file, data_root, features=list(LAYER), annotations=annotations), cache, report)
    return data.extraction.static(data.training.segments), dict(data.extraction.feature_set.families())


def with_columns(objective: Objective, table: pd.DataFrame) -> Objective:
    """The folds with these columns beside theirs."""
    folds = [
        replace(
            fold,
            train=fold.train.join(table.loc[fold.train.index]),
            held_out=fold.held_out.join(table.loc[fold.held_out.index]),
        )
        for fold in objective.folds
    ]
    return replace(objective, folds=folds)


def out_of_fold(objective: Objective, candidate: Candidate) -> FloatArray:
    gathered = np.full(sum(len(fold.rows) for fold in objective.folds), np.nan)
    for fold, predicted in zip(objective.folds, objective.predictions(candidate), strict=True):
        gathered[fold.rows] = predicted
    return gathered


def subsets(families: Mapping[str, str]) -> dict[str, list[str]]:
    """Name -> columns: each family, and all of them."""
    names = list(dict.fromkeys(families.values()))
    each = {f"+ {name}": [c for c, family in families.items() if family == name] for name in names}
    return {**each, "+ all of these": list(families)}


def report(stage: str, done: int, total: int) -> None:
    if done in (0, total):
        print(f"... {stage} {done}/{total}", flush=True)


def show(outcome: Report, sizes: Mapping[str, int]) -> None:
    print(f"{'features':24s} columns  metric      value  difference   95 % interval        p   (Holm)")
    for name, scores in outcome.systems.items():
        for metric in METRICS:
            line = f"{name:24s} {sizes[name]:7d}  {metric:10s} {scores.metrics[metric]:6.4f}"
            if name != "base":
                pair = outcome.comparison(name, "base", metric)
                line += f"  {pair.result.difference:+10.4f}   [{pair.ci[0]:+.4f}, {pair.ci[1]:+.4f}]"
                line += f"  {pair.result.p:.4f} ({pair.p_corrected:.4f})"
            print(line)


def measure(file: Path, data_root: Path, annotators: Path, cache: Path, samples: int | None) -> None:
    data = prepare(changed(file, data_root, learner=LEARNER), cache, report)
    best, objective = search_candidates(data, progress=report)
    table, families = layer_table(file, data_root, annotators, cache)
    columns = subsets(families)
    predictions = {"base": out_of_fold(objective, best.best)}
    for name, chosen in columns.items():
        predictions[name] = out_of_fold(with_columns(objective, table[chosen]), best.best)
        print(f"... {name}", flush=True)
    outcome = evaluate(
        data.scores, predictions, data.dataset.scale, baselines=("base",), metrics=METRICS, samples=samples
    )
    base = len(objective.folds[0].train.columns)
    show(outcome, {"base": base, **{name: base + len(chosen) for name, chosen in columns.items()}})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    best = ROOT / "experiments" / "wmt12" / "best.yaml"
    parser.add_argument("experiment", type=Path, nargs="?", default=best)
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--annotators", type=Path, default=ROOT / "annotators")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--samples", type=int, default=None)
    given = parser.parse_args(arguments)
    measure(given.experiment, given.data_root, given.annotators.resolve(), given.cache, given.samples)


if __name__ == "__main__":
    main()
