"""Figures given as columns of the table against the families that compute the same figures.

python benchmarks/studies/columns_as_families.py --pair ro-en

Direct assessments of MLQE-PE; a ridge learned from a sample of train, Pearson on a sample of dev. The columns
are written as texts, as a table has them: the mean log-probability and the system's score from the data's
files, the cosine of an encoder, and the score of a model of `qe unsupervised`, which is compared with itself.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import qe
from features.core.feature_set import FeatureSet, completed, families
from features.core.segments import Segments
from qe.data.dataset import Split
from qe.data.format import make_format
from qe.models.pipeline import Candidate, fit
from qe.training.reading import sampled, scores_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SIDES = ("source", "target", "subwords", "token_log_probabilities")
Config = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pair", default="ro-en")
    parser.add_argument("--encoder", default="multilingual-e5-small-int8")
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    read = make_format("mlqe_pe", {"pair": options.pair, "text": "tokenised"}).read(options.data / "mlqe-pe")
    train, dev = (sampled(read.splits[name], options.rows, 0) for name in ("train", "dev"))
    encoder = {"kind": "encoder", "model": options.encoder, "prediction": False, "pca": 0}
    families: Mapping[str, Config] = {
        "mean": {"kind": "decoder", "only": ["decoder_mean"]},
        "model_score": {"kind": "decoder", "only": ["decoder_model_score"]},
        "cosine": {**encoder, "only": ["encoder_source_cosine"]},
    }
    print("figure          family  column")
    for name, config in families.items():
        values = [of_family(config, split, train) for split in (train, dev)]
        texts = [list(map(repr, value)) for value in values]
        if name == "mean":
            texts = [means(split.segments) for split in (train, dev)]
        print(f"{name:15} {correlation(values, (train, dev)):.4f}  {of_column(name, texts, train, dev):.4f}")
    values = unsupervised(options.pair, train, dev)
    texts = [list(map(repr, value)) for value in values]
    own = np.corrcoef(values[1], scores_of(dev))[0, 1]
    print(f"{'unsupervised':15} {own:.4f}  {of_column('unsupervised', texts, train, dev):.4f}")


def of_family(config: Config, split: Split, train: Split) -> list[float]:
    """The values of the only feature of a family; what it learns, it learns from train."""
    features = FeatureSet.make([config], None)
    fitted = [each.fit(train.segments, train.labels()) for each in features.fitted]
    features = replace(features, extractors=tuple(fitted or features.extractors))
    return [float(value) for value in features.extract(split.segments).to_numpy()[:, 0]]


def means(segments: Segments) -> list[str]:
    """Mean log-probabilities of all subwords and the end, from the file of the data."""
    lines = segments.require("token_log_probabilities")
    return [repr(float(np.mean([float(number) for number in line.split()]))) for line in lines]


def of_column(name: str, texts: list[list[str]], train: Split, dev: Split) -> float:
    """Pearson on dev of a ridge on the column of this name, learned from train."""
    column = name if name not in Segments.column_names() else f"{name}_given"
    both = [
        replace(split.segments, further={column: tuple(values)})
        for split, values in zip((train, dev), texts, strict=True)
    ]
    features = FeatureSet.make(completed(families([{"kind": "columns", "names": [column]}]), both[0]), None)
    return ridge([features.extract(segments) for segments in both], (train, dev))


def correlation(values: list[list[float]], splits: tuple[Split, Split]) -> float:
    """Pearson on dev of a ridge on one figure, learned from train."""
    return ridge([pd.DataFrame({"figure": column}) for column in values], splits)


def ridge(tables: list[pd.DataFrame], splits: tuple[Split, Split]) -> float:
    pipeline = fit(Candidate("ridge", {"alpha": 1.0}).pipeline(0), tables[0], scores_of(splits[0]))
    return float(np.corrcoef(pipeline.predict(tables[1]), scores_of(splits[1]))[0, 1])


def unsupervised(pair: str, train: Split, dev: Split) -> list[list[float]]:
    """Scores of a model of train's translations and the decoder's log-probabilities, without labels."""
    source, target = pair.split("-")
    frames = [pd.DataFrame({name: split.segments.require(name) for name in SIDES}) for split in (train, dev)]
    with TemporaryDirectory() as folder:
        made = qe.train_without_labels(
            frames[0], output=folder, source_language=source, target_language=target, tokenized=True
        )
        model = qe.load_model(made.folder)
        return [list(map(float, model.predict(frame)["score"])) for frame in frames]


if __name__ == "__main__":
    main()
