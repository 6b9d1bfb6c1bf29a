"""Variants of an experiment's families on the same rows and folds: Pearson, words, and whether they differ.

    python benchmarks/studies/wmt18_variants.py EXPERIMENT --rows 4000 --cache DIR --variant NAME \\
        'FAMILIES' ...

FAMILIES is the YAML list that stands in the place of the experiment's `features` (`--set-in NAME KEY=VALUE`
sets another key of one variant); the first variant is what the others are compared with. Predictions are
out-of-fold (the folds of the experiment; families cross-fitted inside them); differences have 95 % intervals
by the paired bootstrap of segments (10,000 samples, seed 0).
Rows have the weights and auxiliary labels of the experiment; where some were judged by more annotators than
others, Pearson is also given of those judged by most.
Words: AUC, and F1-mult with the threshold that was best on the other half of the held-out words. CPU seconds
are those of whatever was not in the cache.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from features.word_level.labels import tag_labels
from features.word_quality import WordQuality
from qe.config.experiment import Experiment, load
from qe.models.pipeline import Candidate, fit
from qe.training.check import check
from qe.training.preparation import Prepared, prepare
from qe.training.reading import read_dataset

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SAMPLES = 10_000


def subset(experiment: Experiment, rows: int | None, seed: int) -> Any:
    """The dataset with `rows` random training rows, or all."""
    dataset = read_dataset(experiment)
    train = dataset.splits["train"]
    if rows is None or rows >= len(train):
        return dataset
    chosen = np.sort(np.random.default_rng(seed).permutation(len(train))[:rows])
    return replace(dataset, splits={**dataset.splits, "train": train.take(chosen)})


def out_of_fold(prepared: Prepared, most: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) predictions; P(BAD) and tags of all held-out words, fold after fold (empty without words).

    `most`: the first folds alone; rows of the others are NaN.
    """
    section = prepared.experiment.learner[0]
    candidate = Candidate(section.kind, section.params)
    result, probability, bad = np.full(len(prepared.scores), np.nan), [np.empty(0)], [np.empty(0, bool)]
    for train, held_out in prepared.first_folds[:most]:
        own, other = prepared.extraction.fold(prepared.training, train, held_out)
        scores, weights = prepared.learned(prepared.training, train)
        pipeline = fit(candidate.pipeline(0), own, scores, weights)
        result[held_out] = pipeline.predict(other)
        for i, extractor in enumerate(prepared.extraction.feature_set.extractors):
            if isinstance(extractor, WordQuality) and extractor.labels == "word_tags":
                split = prepared.training.take(held_out)
                fitted: Any = prepared.extraction._fitted(i, extractor, prepared.training.take(train))
                probability.append(fitted.tokens(split.segments).words)
                bad.append(tag_labels(split.labels()["word_tags"], split.segments.target_tokens).words)
                break
    return result, np.concatenate(probability), np.concatenate(bad)


def f1_mult(guess: np.ndarray, bad: np.ndarray) -> float:
    both, neither = (guess & bad).sum(), (~guess & ~bad).sum()
    wrong = (guess != bad).sum()
    return float(2 * both / (2 * both + wrong) * 2 * neither / (2 * neither + wrong))


def cross_tuned(probability: np.ndarray, bad: np.ndarray) -> float:
    """Mean F1-mult of the halves, each with the threshold that was best on the other."""
    half = np.arange(len(bad)) % 2 == 0
    figures = []
    for tuning in (half, ~half):
        levels = np.quantile(probability[tuning], np.linspace(0.5, 0.95, 46))
        best = max(levels, key=lambda level: f1_mult(probability[tuning] > level, bad[tuning]))
        figures.append(f1_mult(probability[~tuning] > best, bad[~tuning]))
    return float(np.mean(figures))


def correlations(predicted: np.ndarray, gold: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(samples,) Pearson of resampled rows."""
    p, g = predicted[rows], gold[rows]
    p, g = p - p.mean(axis=1, keepdims=True), g - g.mean(axis=1, keepdims=True)
    return np.asarray((p * g).sum(axis=1) / np.sqrt((p * p).sum(axis=1) * (g * g).sum(axis=1)))


def interval(predicted: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of Pearson."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(0, len(gold), (100, len(gold))) for _ in range(SAMPLES // 100))
    low, high = np.quantile(np.concatenate([correlations(predicted, gold, r) for r in rows]), [0.025, 0.975])
    return float(low), float(high)


def difference(one: np.ndarray, other: np.ndarray, gold: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of Pearson of `one` less that of `other`."""
    rng, parts = np.random.default_rng(0), []
    for _ in range(SAMPLES // 100):
        rows = rng.integers(0, len(gold), (100, len(gold)))
        parts.append(correlations(one, gold, rows) - correlations(other, gold, rows))
    low, high = np.quantile(np.concatenate(parts), [0.025, 0.975])
    return float(low), float(high)


def figures(predicted: np.ndarray, first: np.ndarray, gold: np.ndarray) -> str:
    """Pearson, with an interval for the first variant, with the difference from it for another one."""
    pearson = float(np.corrcoef(predicted, gold)[0, 1])
    if predicted is first or (predicted == first).all():
        low, high = interval(predicted, gold)
        return f"Pearson {pearson:.4f} [{low:.4f}, {high:.4f}]"
    low, high = difference(predicted, first, gold)
    gain = pearson - np.corrcoef(first, gold)[0, 1]
    return f"Pearson {pearson:.4f}  {gain:+.4f} [{low:+.4f}, {high:+.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=0, help="of the rows")
    parser.add_argument("--most-folds", type=int, help="the first of the folds alone")
    parser.add_argument("--set", action="append", default=[], help="override a key of the experiment")
    parser.add_argument("--variant", nargs=2, action="append", required=True, metavar=("NAME", "FAMILIES"))
    parser.add_argument("--set-in", nargs=2, action="append", default=[], metavar=("NAME", "KEY=VALUE"))
    arguments = parser.parse_args()
    first: np.ndarray | None = None
    for name, families in arguments.variant:
        started = time.process_time()
        experiment = load(
            arguments.experiment,
            data_root=arguments.data_root,
            overrides=[
                *arguments.set,
                *(text for variant, text in arguments.set_in if variant == name),
                f"features={families}",
            ],
        )
        dataset = subset(experiment, arguments.rows, arguments.seed)
        prepared = prepare(check(experiment, in_memory=True), arguments.cache, dataset=dataset)
        predicted, probability, bad = out_of_fold(prepared, arguments.most_folds)
        there = ~np.isnan(predicted)
        first = predicted if first is None else first
        line = f"{name:24} {figures(predicted[there], first[there], prepared.scores[there])}"
        judged = prepared.training.annotators
        if judged is not None and np.ptp(judged):
            most = there & (judged == judged.max())
            what = f"judged by {judged.max():g}"
            line += f"  {what}: {figures(predicted[most], first[most], prepared.scores[most])}"
        if len(bad):
            area = roc_auc_score(bad, probability)
            line += f"  words: AUC {area:.4f} F1-mult {cross_tuned(probability, bad):.4f}"
        print(f"{line}  {time.process_time() - started:.0f} CPU s, {there.sum():,} rows", flush=True)


if __name__ == "__main__":
    main()
