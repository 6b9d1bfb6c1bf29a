"""A new pair without labels: each pair is left out and scored by models of the others.

    python benchmarks/studies/few_labels_transfer.py [--rows 2000] [--cache DIR]

At most `--rows` random training segments of each pair (seed 0), and families whose columns mean the same in
every language: `surface`, `ibm1`, `lm`, `alignment`, `phrase_table`, with resources of the pair's corpus (of
the largest, en-es, every 16th line).
Labels of the other pairs are standardised, turned so that higher is better, and each pair weighs the same;
the label of the pair that is left out is never seen. The learner is ridge regression with a penalty fixed
beforehand (1000 on standardised columns).

  as they are  columns of the left-out pair stand beside the others' as they come
  aligned      every pair's columns have the mean and deviation of the left-out pair's, which need no label
               (`align: true` of a dataset)
  own 100, own these labels alone: 100 random ones (mean of 10 draws, tested on the others), and all of them
               (5 folds)

Pearson's correlation with the oriented label; [95 % interval] by the bootstrap of segments (2,000 samples).
"""

import argparse
import gzip
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from features.basics.array_types import FloatArray
from qe.config.experiment import from_mapping
from qe.models.pipeline import imputer, scaler
from qe.resources.bundle_source import default_cache
from qe.training.auxiliary import aligned
from qe.training.check import check
from qe.training.preparation import prepare

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FEATURES = ["surface", "ibm1", "lm", "alignment", "phrase_table"]
PENALTY, SAMPLES = 1000.0, 2000
FEW, DRAWS = 100, 10
# (features, labels, weights, features of other rows) -> predictions of the other rows
Teaching = Callable[[pd.DataFrame, FloatArray, FloatArray | None, pd.DataFrame], FloatArray]
PAIRS: dict[str, dict[str, Any]] = {
    "MLQE-PE en-de, DA": {"format": "mlqe_pe", "path": "mlqe-pe", "pair": "en-de", "text": "tokenised"},
    "MLQE-PE ro-en, DA": {"format": "mlqe_pe", "path": "mlqe-pe", "pair": "ro-en", "text": "tokenised"},
    "WMT18 en-de, HTER": {
        "format": "wmt_qe",
        "path": "wmt18-qe/en-de.smt",
        "source_language": "en",
        "target_language": "de",
    },
    "WMT12 en-es, effort": {"format": "wmt12", "path": "wmt12-qe"},
}
THINNED = {"en-es": 16}
LANGUAGES = dict(zip(PAIRS, ("en-de", "ro-en", "en-de", "en-es"), strict=True))


def read(name: str, rows: int, data: Path, cache: Path) -> tuple[pd.DataFrame, FloatArray]:
    """Features and labels, higher is better, mean 0 and deviation 1."""
    pair = LANGUAGES[name]
    left, right = (corpus(data, pair, language, cache) for language in pair.split("-"))
    content = {
        "name": "transfer",
        "dataset": {**PAIRS[name], "rows": rows},
        "resources": {"source": str(left), "target": str(right)},
        "features": [*FEATURES],
        "learner": {"kind": "ridge"},
    }
    prepared = prepare(check(from_mapping(content, data)), cache)
    labels = prepared.dataset.scale.sign * prepared.scores
    table = prepared.extraction.static(prepared.training.segments)
    return table, (labels - labels.mean()) / labels.std()


def corpus(data: Path, pair: str, language: str, cache: Path) -> Path:
    """One side of the pair's parallel text, thinned where it is large."""
    path, step = data / "parallel" / pair / f"train.{language}.gz", THINNED.get(pair, 1)
    if step == 1:
        return path
    thinned = cache / f"{pair}.every-{step}.{language}"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        thinned.write_text("".join(islice(lines, 0, None, step)), "utf-8")
    return thinned


def taught(
    table: pd.DataFrame, labels: FloatArray, weights: FloatArray | None, other: pd.DataFrame
) -> FloatArray:
    """Predictions of other rows."""
    model = make_pipeline(imputer(), scaler(), Ridge(PENALTY))
    model.fit(table, labels, ridge__sample_weight=weights)
    return np.asarray(model.predict(other), np.float64)


def by_others(tables: dict[str, Any], left_out: str, align: bool) -> FloatArray:
    """Predictions of a pair's rows by what the other pairs teach; the mean weight of a row is 1."""
    own, others = tables[left_out][0], {name: tables[name] for name in tables if name != left_out}
    features = [aligned(table, own) if align else table for table, _ in others.values()]
    sizes = [len(table) for table in features]
    weights = np.repeat([sum(sizes) / len(sizes) / size for size in sizes], sizes)
    labels = np.concatenate([labels for _, labels in others.values()])
    return taught(pd.concat(features), labels, weights, own)


def by_itself(table: pd.DataFrame, labels: FloatArray, taught: Teaching = taught) -> FloatArray:
    """Out-of-fold predictions."""
    predicted = np.empty(len(labels))
    for train, held_out in KFold(5, shuffle=True, random_state=0).split(labels):
        predicted[held_out] = taught(table.iloc[train], labels[train], None, table.iloc[held_out])
    return predicted


def by_few(table: pd.DataFrame, labels: FloatArray, taught: Teaching = taught) -> float:
    """Pearson's correlation of models trained on `FEW` rows, on the other rows.

    The mean of `DRAWS`.
    """
    figures = []
    for seed in range(DRAWS):
        order = np.random.default_rng(seed).permutation(len(labels))
        train, held_out = order[:FEW], order[FEW:]
        predicted = taught(table.iloc[train], labels[train], None, table.iloc[held_out])
        figures.append(np.corrcoef(predicted, labels[held_out])[0, 1])
    return float(np.mean(figures))


def shown(predicted: FloatArray, labels: FloatArray) -> str:
    """Pearson's correlation and its interval."""
    rng, n = np.random.default_rng(0), len(labels)
    draws = (rng.integers(0, n, n) for _ in range(SAMPLES))
    sampled = [np.corrcoef(predicted[rows], labels[rows])[0, 1] for rows in draws]
    low, high = np.quantile(sampled, [0.025, 0.975])
    return f"{np.corrcoef(predicted, labels)[0, 1]:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--rows", type=int, default=2000)
    given = parser.parse_args()
    tables = {name: read(name, given.rows, given.data_root, given.cache) for name in PAIRS}
    print(f"{'left out':<22}{'as they are':<23}{'aligned':<23}{'own 100':<9}{'own':<23}")
    for name, (table, labels) in tables.items():
        others = (shown(by_others(tables, name, align), labels) for align in (False, True))
        own = shown(by_itself(table, labels), labels)
        print(f"{name:<22}{''.join(f'{text:<23}' for text in others)}{by_few(table, labels):<9.3f}{own}")


if __name__ == "__main__":
    main()
