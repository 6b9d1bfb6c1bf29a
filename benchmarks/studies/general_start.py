"""What own labels gain over the score of a general model, and its score over own labels alone.

qe train experiments/general/da.yaml --data-root ../shared/data --output output/general
python benchmarks/studies/general_start.py output/general

MLQE-PE ro-en: 100, 300 and 1,000 random training rows, Pearson on dev, mean of three draws and their range.
The families are those that `qe init` writes without parallel text; the general model predicts ro-en without
its labels.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

import qe
from qe.data.dataset import Split
from qe.data.format import make_format
from qe.models.model import Model

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SIZES, DRAWS = (100, 300, 1000), 3
OWN = ["surface", "bag_of_words", {"kind": "encoder", "model": "multilingual-e5-small"}]
GENERAL = {"kind": "columns", "names": ["general"]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="Folder of the run.")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    read = make_format("mlqe_pe", {"pair": "ro-en", "text": "raw"}).read(options.data / "mlqe-pe")
    model = Model.load(options.output / "model")
    generator = np.random.default_rng(0)
    rows = np.sort(generator.permutation(len(read.split("train")))[: DRAWS * max(SIZES)])
    train, dev = table(read.split("train").take(rows), model), table(read.split("dev"), model)
    print(f"the general model alone: {pearsonr(dev['general'].astype(float), dev['score'])[0]:.3f}")
    for size in SIZES:
        for name, families in (("own families", OWN), ("and the general score", [*OWN, GENERAL])):
            found = []
            for draw in range(DRAWS):
                part = train.sample(size, random_state=draw)
                found.append(correlation(part, dev, families))
            print(f"{size:5} {name:22} {np.mean(found):.3f} [{min(found):.3f}, {max(found):.3f}]", flush=True)


def table(split: Split, model: Model) -> pd.DataFrame:
    """The rows with the general model's score, made without log-probabilities."""
    texts = {"source": split.segments.source, "target": split.segments.target}
    segments = model.segments({**texts, "language_pair": ("ro-en",) * len(split)})
    scores = model.predict(segments)
    return pd.DataFrame({**texts, "score": split.scores, "general": [repr(float(one)) for one in scores]})


def correlation(train: pd.DataFrame, dev: pd.DataFrame, families: list[Any]) -> float:
    data = qe.Dataset.from_frame(
        {"train": train, "test": dev}, label="score", source_language="ro", target_language="en",
        higher_is_better=True, columns=["general"],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        experiment = {
            "name": "start", "features": families, "learner": {"kind": "svr_rbf"},
            "split": {"train": "train", "test": "test", "folds": 5, "seed": 0},
            "search": {"trials": 10, "objective": "mae"}, "evaluation": {"robustness": False, "samples": 100},
        }  # fmt: skip
        outcome = qe.train(experiment, dataset=data, output=Path(folder) / "run")
    return float(outcome.report["test"]["systems"]["start"]["pearson"])


if __name__ == "__main__":
    main()
