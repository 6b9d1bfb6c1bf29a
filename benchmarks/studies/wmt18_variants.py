"""Variants of an experiment's families on equal folds: Pearson, words, differences.

On the same rows.

    python benchmarks/studies/wmt18_variants.py EXPERIMENT --rows 4000 --cache DIR --variant NAME \\
        'FAMILIES' ...

FAMILIES is the YAML list that stands in the place of the experiment's `features` (`--set-in NAME KEY=VALUE`
sets another key of one variant); the first variant is what the others are compared with. Predictions are
out-of-fold (the folds of the experiment; families cross-fitted inside them); differences have 95 % intervals
by the paired bootstrap of segments (10,000 samples, seed 0).
Rows have the weights and auxiliary labels of the experiment; where some were judged by more annotators than
others, Pearson is also given of those judged by most.
Words and gaps, where a family `word_quality` judges them: AUC, and F1-mult with the threshold that was best
on the other half of the held-out places; differences by the paired bootstrap of segments (1,000 samples),
thresholds as they are. CPU seconds are those of whatever was not in the cache; memory is the highest yet.
"""

import argparse
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from features.word_quality import KINDS, WordQuality
from qe.config.experiment import Experiment, load
from qe.models.pipeline import Candidate, fit
from qe.training.check import check
from qe.training.preparation import Prepared, prepare
from qe.training.reading import read_dataset

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SAMPLES = 10_000
OF_PLACES = 1000  # samples


@dataclass(frozen=True)
class Judged:
    """Held-out places, fold after fold.

    probability, bad  (t,) P(BAD), and which are BAD
    segment           (t,) the row that each stands in
    """

    probability: np.ndarray
    bad: np.ndarray
    segment: np.ndarray


def subset(experiment: Experiment, rows: int | None, seed: int) -> Any:
    """The dataset with `rows` random training rows, or all."""
    dataset = read_dataset(experiment)
    train = dataset.splits["train"]
    if rows is None or rows >= len(train):
        return dataset
    chosen = np.sort(np.random.default_rng(seed).permutation(len(train))[:rows])
    return replace(dataset, splits={**dataset.splits, "train": train.take(chosen)})


def out_of_fold(prepared: Prepared, most: int | None = None) -> tuple[np.ndarray, Mapping[str, Judged]]:
    """(n,) predictions; words and gaps as the first `word_quality` judges them, by kind.

    The mapping is empty without such a family.

    `most`: the first folds alone; rows of the others are NaN.
    """
    section = prepared.experiment.learner[0]
    candidate = Candidate(section.kind, section.params)
    result, parts = np.full(len(prepared.scores), np.nan), dict[str, list[Judged]]()
    for train, held_out in prepared.first_folds[:most]:
        own, other = prepared.extraction.fold(prepared.training, train, held_out)
        scores, weights = prepared.learned(prepared.training, train)
        pipeline = fit(candidate.pipeline(0), own, scores, weights)
        result[held_out] = pipeline.predict(other)
        for kind, part in held_out_places(prepared, train, held_out).items():
            parts.setdefault(kind, []).append(part)
    return result, {kind: joined(some) for kind, some in parts.items()}


def held_out_places(prepared: Prepared, train: np.ndarray, held_out: np.ndarray) -> dict[str, Judged]:
    """The held-out words and gaps of one fold."""
    for i, extractor in enumerate(prepared.extraction.feature_set.extractors):
        if isinstance(extractor, WordQuality):
            split = prepared.training.take(held_out)
            fitted: Any = prepared.extraction._fitted(i, extractor, prepared.training.take(train))
            places, bad = fitted.places(split.segments), extractor.bad_places(split.segments, split.labels())
            rows = {kind: np.repeat(held_out, np.diff(places[kind].offsets)) for kind in KINDS}
            return {kind: Judged(places[kind].bad, np.asarray(bad[kind]), rows[kind]) for kind in KINDS}
    return {}


def joined(parts: list[Judged]) -> Judged:
    return Judged(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Judged.__dataclass_fields__)
    )


def f1_mult(guess: np.ndarray, bad: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The product of F1 of BAD and of OK; a place counts `weight` times."""
    both, neither, wrong = (
        np.sum(location if weight is None else weight[location])
        for location in (guess & bad, ~guess & ~bad, guess != bad)
    )
    return float(2 * both / (2 * both + wrong) * 2 * neither / (2 * neither + wrong))


def cross_tagged(places: Judged) -> np.ndarray:
    """(t,) tags; those of either half by the threshold that was best on the other one."""
    half, tags = np.arange(len(places.bad)) % 2 == 0, np.zeros(len(places.bad), bool)
    for tuning in (half, ~half):
        own, bad = places.probability[tuning], places.bad[tuning]
        best = max(np.quantile(own, np.linspace(0.5, 0.95, 46)), key=lambda level: f1_mult(own > level, bad))
        tags[~tuning] = places.probability[~tuning] > best
    return tags


def area(level: np.ndarray, bad: np.ndarray, weight: np.ndarray) -> float:
    """The area under the ROC curve by ranks of P(BAD); a place counts `weight` times."""
    right = np.bincount(level, weight * bad)
    wrong = np.bincount(level, weight * ~bad)
    below = np.cumsum(wrong) - wrong / 2
    return float(right @ below / (right.sum() * wrong.sum()))


def told_places(kind: str, one: Judged, first: Judged) -> str:
    """AUC and F1-mult, with their differences from the first variant."""
    level, tags = np.unique(one.probability, return_inverse=True)[1], cross_tagged(one)
    own = roc_auc_score(one.bad, one.probability), f1_mult(tags, one.bad)
    if one is first or (one.probability == first.probability).all():
        return f"{kind}: AUC {own[0]:.4f} F1-mult {own[1]:.4f}"
    other = np.unique(first.probability, return_inverse=True)[1], cross_tagged(first)
    rng, gains, n = np.random.default_rng(0), [], int(one.segment.max()) + 1
    present = np.unique(one.segment)
    for _ in range(OF_PLACES):
        drawn = np.bincount(rng.choice(present, len(present)), minlength=n)[one.segment]
        gains.append(
            [
                area(level, one.bad, drawn) - area(other[0], one.bad, drawn),
                f1_mult(tags, one.bad, drawn) - f1_mult(other[1], one.bad, drawn),
            ]
        )
    low, high = np.quantile(gains, [0.025, 0.975], axis=0)
    before = roc_auc_score(one.bad, first.probability), f1_mult(other[1], one.bad)
    return f"{kind}:" + "".join(
        f" {name} {own[k]:.4f} {own[k] - before[k]:+.4f} [{low[k]:+.4f}, {high[k]:+.4f}]"
        for k, name in enumerate(("AUC", "F1-mult"))
    )


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
    """Pearson and its interval for the first variant, difference from it for others."""
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
    firsts: dict[str, Judged] = {}
    held: list[Prepared] = []  # what an encoder has read is forgotten when the last that asked for it is gone
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
        held.append(prepared)
        predicted, places = out_of_fold(prepared, arguments.most_folds)
        spent, there = time.process_time() - started, ~np.isnan(predicted)
        first = predicted if first is None else first
        line = f"{name:24} {figures(predicted[there], first[there], prepared.scores[there])}"
        judged = prepared.training.annotators
        if judged is not None and np.ptp(judged):
            most = there & (judged == judged.max())
            what = f"judged by {judged.max():g}"
            line += f"  {what}: {figures(predicted[most], first[most], prepared.scores[most])}"
        for kind, some in places.items():
            line += f"  {told_places(kind, some, firsts.setdefault(kind, some))}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        costs = f"{spent:.0f} CPU s, {memory:.1f} GiB, {there.sum():,} rows"
        print(f"{line}  {costs}", flush=True)


if __name__ == "__main__":
    main()
