"""A new pair of neural systems without labels, with the decoder's subword probabilities.

    python benchmarks/studies/few_labels_transfer_decoder.py [--rows 7000]

At most `--rows` training segments of each pair of MLQE-PE (random, seed 0); `decoder` and `surface`, whose
columns mean the same in every language and need no resources; the learner of
experiments/few-labels/mlqe-ro-en-da.yaml. Labels are standardised and turned so that higher is better.

  decoder_mean     mean log-probability of the subwords: nothing is learned
  by HTER, by DA   a model of the other pair's labels alone, columns as they come
  own 100, own     these labels alone: 100 random ones (mean of 10 draws, tested on the others), and all of
                   them (5 folds)

Pearson's correlation with the oriented label; [95 % interval] by the bootstrap of segments (2,000 samples).
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from few_labels_transfer import DATA, by_few, by_itself, shown

from features.basics.array_types import FloatArray
from qe.config.experiment import from_mapping, load
from qe.models.pipeline import Candidate, fit
from qe.resources.bundle_source import default_cache
from qe.training.check import check
from qe.training.preparation import prepare

PAIRS, LABELS = ("ro-en", "en-de"), ("da", "hter")
LEARNER = load(Path(__file__).resolve().parents[2] / "experiments/few-labels/mlqe-ro-en-da.yaml").learner[0]
Rows = tuple[pd.DataFrame, FloatArray]


def read(pair: str, label: str, rows: int, data: Path, cache: Path) -> Rows:
    """Features and labels, higher is better, mean 0 and deviation 1."""
    dataset = {"format": "mlqe_pe", "path": "mlqe-pe", "pair": pair, "label": label, "text": "tokenised"}
    content: dict[str, Any] = {
        "name": "transfer",
        "dataset": {**dataset, "rows": rows},
        "features": ["decoder", "surface"],
        "learner": {"kind": "ridge"},
    }
    prepared = prepare(check(from_mapping(content, data)), cache)
    labels = prepared.dataset.scale.sign * prepared.scores
    table = prepared.extraction.static(prepared.training.segments)
    return table, (labels - labels.mean()) / labels.std()


def taught(
    table: pd.DataFrame, labels: FloatArray, weights: FloatArray | None, other: pd.DataFrame
) -> FloatArray:
    """Predictions of other rows."""
    model = fit(Candidate(LEARNER.kind, LEARNER.params).pipeline(0), table, labels, weights)
    return np.asarray(model.predict(other), np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--rows", type=int, default=7000)
    given = parser.parse_args()
    rows = {
        (pair, label): read(pair, label, given.rows, given.data_root, given.cache)
        for pair in PAIRS
        for label in LABELS
    }
    columns = ("decoder_mean", "by HTER", "by DA", "own")
    print(f"{'left out':<13}{''.join(f'{name:<23}' for name in columns)}own 100")
    for (pair, label), (table, labels) in rows.items():
        other = next(name for name in PAIRS if name != pair)
        predictions = [table["decoder_mean"].to_numpy(np.float64)]
        predictions += [taught(*rows[other, kind], None, table) for kind in ("hter", "da")]
        predictions.append(by_itself(table, labels, taught))
        shares = "".join(f"{shown(each, labels):<23}" for each in predictions)
        print(f"{f'{pair} {label}':<13}{shares}{by_few(table, labels, taught):.3f}", flush=True)


if __name__ == "__main__":
    main()
