"""Word-level quality on WMT12: out-of-fold AUC, segment scores by aggregates, times.

On the training set.

    python benchmarks/studies/wmt12_word_quality.py --cache DIR [--folds 10] [--second] [--pretrained]

Folds are contiguous blocks of 31 segments. The alternative for tokens is the share of BAD of the same word in
the training folds; for segments, the two lengths alone. `--second` translates by Apertium and uses
pseudo-reference and back-translation. Aggregates of a segment come from the model of the folds it is not in,
and an ElasticNet (alpha .05, l1_ratio .3) learns from them on the same folds. Times are CPU seconds.

`--pretrained` measures `knowledge: [pretrained]`, and what was learned from parallel text alone: its AUC on
all segments, of which no label was seen, and its own aggregates (`knowledge: [synthetic]`). The CPU seconds
of building it are those of the build, whenever that was.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from features.basics.array_types import FloatArray
from features.basics.progress import silent
from features.core.bundle import Bundle
from features.core.feature_set import make_extractor, parts_needed
from features.word_level.keys import Encoding
from features.word_level.knowledge import JudgedWords
from features.word_level.labels import TokenLabels
from features.word_quality import KINDS, TokenQuality, WordQuality
from qe.config.experiment import ResourcesSection
from qe.data.dataset import Split
from qe.data.folds import make_folds
from qe.data.formats.wmt import Wmt12
from qe.resources.bundle_source import resources_for
from qe.statistics.metric import METRICS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SECOND = ["back_translation", "pseudo_reference"]


class Clock:
    """CPU seconds by what they went into."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def of(self, name: str, function: Any, *arguments: Any) -> Any:
        started = time.process_time()
        result = function(*arguments)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - started
        return result


def with_second_translations(split: Split) -> Split:
    from qe.language.engines.apertium import Apertium

    there, back = Apertium("en", "es"), Apertium("es", "en")
    segments = replace(
        split.segments,
        pseudo_reference=tuple(there.translate(split.segments.source)),
        back_translation=tuple(back.translate(split.segments.target)),
    )
    return replace(split, segments=segments)


def bundle_with(parts: list[str], split: Split, cache: Path) -> Bundle:
    section = ResourcesSection(
        source=DATA / "parallel/en-es/train.en.gz", target=DATA / "parallel/en-es/train.es.gz"
    )
    bundle = resources_for(section, split.segments, parts, cache, silent)
    assert bundle is not None
    return bundle


def make(knowledge: list[str], split: Split, second: bool, cache: Path) -> WordQuality:
    config = {"kind": "word_quality", "knowledge": knowledge, "use": SECOND if second else []}
    extractor = make_extractor(config, bundle_with(parts_needed([config]), split, cache))
    assert isinstance(extractor, WordQuality)
    return extractor


def labels_of(extractor: WordQuality, split: Split) -> TokenLabels:
    return extractor._labels(split.segments, split.labels())


def by_word(extractor: WordQuality, training: Split, held_out: Split) -> FloatArray:
    """The alternative: share of BAD of the same word in training."""
    keys = [extractor._table(s.segments, extractor._used).word_keys["word"] for s in (training, held_out)]
    encoding = Encoding.fit(keys[0], labels_of(extractor, training).words)
    return np.asarray(encoding.columns(keys[1])[:, 0])


def transferred(split: Split, bad: TokenLabels, folds: Any, clock: Clock, cache: Path) -> None:
    """What parallel text alone says of the words, gaps and segments."""
    config = {"kind": "word_quality", "knowledge": ["synthetic"]}
    bundle = bundle_with(parts_needed([config]), split, cache)
    built = bundle.manifest["parts"]["synthetic_word_quality"]
    print(f"building synthetic_word_quality: {built['cpu_seconds']} s CPU, {built['settings']}")
    extractor = make_extractor(config, bundle)
    assert isinstance(extractor, JudgedWords)
    words, gaps = extractor.knowledge[0].judged(extractor.table(split.segments))
    auc = roc_auc_score(bad.words, words), roc_auc_score(bad.gaps, gaps)
    print(f"without any label: AUC of words {auc[0]:.4f}, of gaps {auc[1]:.4f}")
    features = clock.of("knowledge: [synthetic], all segments", extractor.extract, split.segments)
    if split.scores is not None:
        delta_avg, mae = segment_level(features, split.scores, folds)
        print(f"aggregates without any label: DeltaAvg {delta_avg:.4f}, MAE {mae:.4f}")


def segment_level(features: FloatArray, scores: FloatArray, folds: Any) -> tuple[float, float]:
    """DeltaAvg and MAE of cross-validated predictions."""
    filled = np.where(np.isnan(features), np.nanmedian(features, axis=0), features)
    predicted = np.empty(len(scores))
    for train, test in folds:
        model = make_pipeline(StandardScaler(), ElasticNet(alpha=0.05, l1_ratio=0.3, max_iter=20_000))
        predicted[test] = model.fit(filled[train], scores[train]).predict(filled[test])
    predicted = np.clip(predicted, 1, 5)
    delta_avg, mae = METRICS.get("delta_avg")(), METRICS.get("mae")()
    return float(delta_avg.score(scores, predicted)), float(mae.score(scores, predicted))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True, help="folder of built resources")
    parser.add_argument("--folds", type=int, default=10, help="how many of the 10 folds are run")
    parser.add_argument("--second", action="store_true", help="use second translations by Apertium")
    parser.add_argument("--pretrained", action="store_true", help="with knowledge: [pretrained]")
    arguments = parser.parse_args()
    split = Wmt12().read(DATA / "wmt12-qe").splits["train"]
    if arguments.second:
        split = with_second_translations(split)
    knowledge = ["pretrained"] if arguments.pretrained else []
    extractor = make(knowledge, split, arguments.second, arguments.cache)
    clock = Clock()
    clock.of("token columns, all segments", extractor._table, split.segments, extractor._used)
    folds = make_folds(len(split), 10, scheme="block", seed=0)
    if arguments.pretrained:
        transferred(split, labels_of(extractor, split), folds, clock, arguments.cache)
    gold: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    by_name: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    plain: list[FloatArray] = []
    aggregates = np.full((len(split), len(extractor.names)), np.nan)
    for train, test in folds[: arguments.folds]:
        training, held_out = split.take(train), split.take(test)
        fitted = clock.of("fit", extractor.fit, training.segments, training.labels())
        quality: TokenQuality = clock.of("score", fitted.tokens, held_out.segments)
        aggregates[test] = clock.of("extract", fitted.extract, held_out.segments)
        labels = labels_of(extractor, held_out)
        for kind, wrong, p in (("word", labels.words, quality.words), ("gap", labels.gaps, quality.gaps)):
            gold[kind].append(wrong)
            by_name[kind].append(p)
        plain.append(by_word(extractor, training, held_out))
        print(f"fold {len(plain)}", file=sys.stderr)
    auc = {kind: roc_auc_score(np.concatenate(gold[kind]), np.concatenate(by_name[kind])) for kind in KINDS}
    alternative = roc_auc_score(np.concatenate(gold["word"]), np.concatenate(plain))
    print(f"AUC of words {auc['word']:.4f}, of gaps {auc['gap']:.4f}; by the word alone {alternative:.4f}")
    if arguments.folds == 10 and split.scores is not None:
        lengths = np.column_stack(
            [split.segments.source_tokens.lengths, split.segments.target_tokens.lengths]
        )
        both = np.hstack([aggregates, lengths])
        for name, features in (("aggregates and lengths", both), ("lengths alone", lengths)):
            delta_avg, mae = segment_level(np.asarray(features, np.float64), split.scores, folds)
            print(f"{name}: DeltaAvg {delta_avg:.4f}, MAE {mae:.4f}")
        column = extractor.names.index("_".join(["word_quality", *knowledge, "word_top5"]))
        r = np.corrcoef(aggregates[:, column], split.scores)[0, 1]
        print(f"correlation of the mean of the 5 highest P(BAD) with effort: {r:.3f}")
    for name, seconds in clock.seconds.items():
        print(f"{name}: {seconds:.1f} s CPU, {seconds / (1 if 'all' in name else arguments.folds):.2f} each")


if __name__ == "__main__":
    main()
