"""An encoder on MLQE-PE's translations: without labels, and by a ridge on its vectors.

python benchmarks/studies/encoders_quality.py --model multilingual-e5-small --pair ro-en --keep vectors.npz

Pearson correlations with direct assessments, with 95 % intervals over segments. `train`: means of languages
are those of train, and the ridge is cross-fitted in five folds; `dev`: everything is learned from train.
Encoding takes some 240 CPU seconds a pair of languages; with --keep it is done once.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from features.basics.array_types import FloatArray
from features.encoder import _joint, _mean_unit
from features.encoding.encoded import EncodedPairs, PairMemory
from features.encoding.folder import EncoderFolder, EncoderSettings, encoder_path
from features.encoding.projections import fit_ridge
from qe.data.format import make_format

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDS, DRAWS = 5, 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model", default="multilingual-e5-small")
    parser.add_argument("--pair", default="ro-en")
    parser.add_argument(
        "--layers", type=int, nargs="*", default=[6, 8, 10], help="inner ones, with a ridge each"
    )
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    kept = options.keep is not None and options.keep.is_file()
    read = (
        dict(np.load(options.keep))
        if kept
        else encoded(options.data, options.model, options.pair, options.layers)
    )
    if options.keep and not kept:
        np.savez(options.keep, **read)
    train = int(read["train"])
    labels = read["labels"]
    rng = np.random.default_rng(0)
    for name, values in columns(read, train, rng).items():
        told = (interval(values[rows], labels[rows], rng) for rows in (slice(train), slice(train, None)))
        print(f"{name:36} train {next(told)}  dev {next(told)}")


def encoded(data: Path, model: str, pair: str, layers: list[int]) -> dict[str, np.ndarray]:
    """The vectors of all layers, matches, log-probabilities and labels of train and dev."""
    dataset = make_format("mlqe_pe", {"pair": pair, "label": "da", "text": "tokenised"}).read(
        data / "mlqe-pe"
    )
    splits = [dataset.splits[name] for name in ("train", "dev")]
    source, target, logs = (
        [text for split in splits for text in getattr(split.segments, name)]
        for name in ("source", "target", "token_log_probabilities")
    )
    folder = EncoderFolder(encoder_path(model))
    memory = PairMemory((folder.prompt, folder.prompt))
    pairs = memory.pairs(folder.load(EncoderSettings(layers=tuple(layers))), target, source)
    return {
        "target": pairs.first,
        "source": pairs.second,
        "matches": pairs.matches,
        "inner": np.array(pairs.layers),
        "layers": np.array(layers),
        "decoder": np.array([np.mean([float(number) for number in text.split()]) for text in logs]),
        "labels": np.concatenate([np.asarray(split.scores, float) for split in splits]),
        "train": np.array(len(splits[0])),
    }


def columns(read: Mapping[str, np.ndarray], train: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Name -> values of all segments."""
    pairs = EncodedPairs(read["target"], read["source"], read["matches"])
    joint, width = _joint(pairs, centres_of(pairs, train)), pairs.first.shape[1]
    plain = unit(pairs.first) * unit(pairs.second)
    centred = joint[:, 3 * width :].sum(axis=1)  # the product of centred vectors
    result = {
        "cosine": plain.sum(axis=1),
        "cosine, centred": centred,
        "mean best match": pairs.matches[:, 0],
        "best match, quantile 25 %": pairs.matches[:, 5],
        "decoder's mean log-probability": read["decoder"],
        "decoder and centred cosine": standard(read["decoder"], train) + standard(centred, train),
    }
    by_layer = [joint, *(_joint(each, centres_of(each, train)) for each in inner(read))]
    ridges = [predicted(rows, read["labels"], train, rng) for rows in by_layer]
    names = ["the last layer", *(f"layer {number}" for number in read["layers"])]
    result |= {f"ridge on both vectors, {name}": told for name, told in zip(names, ridges, strict=True)}
    return {**result, "mean of these ridges": np.mean(ridges, axis=0)}


def inner(read: Mapping[str, np.ndarray]) -> list[EncodedPairs]:
    """Vectors by each inner layer."""
    return [EncodedPairs(target, source, read["matches"]) for target, source in read["inner"]]


def centres_of(pairs: EncodedPairs, train: int) -> dict[str, FloatArray]:
    """The mean vectors of train's translations and sources."""
    return {"target": _mean_unit(pairs.first[:train]), "source": _mean_unit(pairs.second[:train])}


def predicted(rows: FloatArray, labels: FloatArray, train: int, rng: np.random.Generator) -> FloatArray:
    """Cross-fitted in train; learned from all of train for the others."""
    result = fit_ridge(rows[:train], labels[:train]).predict(rows)
    fold = rng.integers(0, FOLDS, train)
    for k in range(FOLDS):
        learned, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        result[held] = fit_ridge(rows[learned], labels[learned]).predict(rows[held])
    return result


def unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float64)


def standard(values: FloatArray, train: int) -> FloatArray:
    return np.asarray((values - values[:train].mean()) / values[:train].std(), np.float64)


def interval(values: FloatArray, labels: FloatArray, rng: np.random.Generator) -> str:
    """Pearson's correlation with its interval over segments drawn with replacement."""
    drawn = rng.integers(0, len(values), (DRAWS, len(values)))
    several = [np.corrcoef(values[rows], labels[rows])[0, 1] for rows in drawn]
    low, high = np.quantile(several, [0.025, 0.975])
    told = np.corrcoef(values, labels)[0, 1]
    return f"{told:.3f} [{low:.3f}, {high:.3f}]".replace("0.", ".")


if __name__ == "__main__":
    main()
