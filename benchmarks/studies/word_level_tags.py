"""Tags, calibration and spans of words on held-out segments of an experiment with word tags.

    python benchmarks/studies/word_level_tags.py EXPERIMENT --rows 3000 --test 1500 --cache DIR

`--rows` random training segments are learned from (`word_quality` as the experiment has it, and
`source_word_quality` from tags of the source); calibration and thresholds come from their cross-fitted
probabilities (5 folds), as `qe train` does it; figures are of `--test` others. Intervals: bootstrap of
segments (1,000 samples, seed 0). Spans: how many of their places are BAD, beside their `mass`. `--keep FILE`
keeps the probabilities (npz), and takes them from there if the file exists.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from features.word_level.places import WordLevelExtractor, judges
from qe.config.experiment import load
from qe.data.dataset import Split
from qe.evaluation.word_level import evaluate_words
from qe.models.word_tags import METRICS, PlaceTags
from qe.scoring.word_level import bad_spans
from qe.statistics.settings import CorrectionSettings
from qe.training.check import check
from qe.training.preparation import prepare
from qe.training.reading import read_dataset

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SOURCE = {"kind": "source_word_quality", "labels": "source_tags"}


def lengths(split: Split) -> dict[str, np.ndarray]:
    target, source = split.segments.target_tokens.lengths, split.segments.source_tokens.lengths
    return {"word": target, "gap": target + 1, "source": source}


def probabilities(arguments: argparse.Namespace) -> dict[str, np.ndarray]:
    """Word probabilities, labels and lengths of training and test rows, by name.

    `oof_`, `gold_`, `len_` of the rows learned from, `test_`, `tgold_`, `tlen_` of the others.
    """
    started = time.process_time()
    experiment = load(arguments.experiment, data_root=arguments.data_root)
    words = next(config for config in experiment.features if config["kind"].startswith("word_quality"))
    experiment = experiment.model_copy(update={"features": (words, SOURCE)})
    dataset = read_dataset(experiment)
    whole = dataset.splits["train"]
    order = np.random.default_rng(0).permutation(len(whole))[: arguments.rows + arguments.test]
    learned, test = (whole.take(np.sort(r)) for r in (order[: arguments.rows], order[arguments.rows :]))
    dataset = replace(dataset, splits={**dataset.splits, "train": learned})
    prepared = prepare(check(experiment, in_memory=True), arguments.cache, dataset=dataset)
    result: dict[str, Any] = {}
    for kind, i in judges(prepared.extraction.feature_set.extractors).items():
        extractor = prepared.extraction.feature_set.extractors[i]
        assert isinstance(extractor, WordLevelExtractor)
        out_of_fold = prepared.extraction.training_places(i, learned, [])[kind]
        result |= {
            f"oof_{kind}": np.concatenate([row for row in out_of_fold if row is not None]),
            f"gold_{kind}": extractor.bad_places(learned.segments, learned.labels())[kind],
            f"len_{kind}": lengths(learned)[kind],
            f"test_{kind}": prepared.extraction.places(i, learned, test.segments)[kind].bad,
            f"tgold_{kind}": extractor.bad_places(test.segments, test.labels())[kind],
            f"tlen_{kind}": lengths(test)[kind],
        }
    print(f"{time.process_time() - started:.0f} CPU s")
    return result


def shown(report: Any, name: str, metric: str) -> str:
    low, high = report.ci[name][metric]
    return f"{metric} {report.scores[name][metric]:.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data-root", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--test", type=int, default=1500)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    kept = arguments.keep is not None and arguments.keep.is_file()
    values: Mapping[str, Any] = dict(np.load(arguments.keep)) if kept else probabilities(arguments)
    if arguments.keep is not None and not kept:
        np.savez(arguments.keep, **values)
    calibrated, tags, offsets = {}, {}, {}
    for kind in ("word", "gap", "source"):
        how = PlaceTags.fit(values[f"gold_{kind}"], values[f"oof_{kind}"])
        assert how is not None
        gold, raw = values[f"tgold_{kind}"], values[f"test_{kind}"]
        offsets[kind] = np.concatenate([[0], np.cumsum(values[f"tlen_{kind}"])])
        calibrated[kind] = how.probability(raw)
        by = {metric: calibrated[kind] >= how.threshold(metric) for metric in METRICS}
        tags[kind] = by["f1_mult"]
        print(f"{kind}: {len(gold):,} places, {gold.mean():.1%} BAD, AUC {roc_auc_score(gold, raw):.4f}")
        for metric, own in by.items():
            one = evaluate_words(
                gold,
                {metric: own},
                offsets[kind],
                CorrectionSettings(samples=1000),
                probabilities={metric: calibrated[kind]},
            )
            names = ("f1_mult", "mcc", "f1_bad", "f1_ok", "ece")
            print(f"  tagged by {metric}: {', '.join(shown(one, metric, name) for name in names)}")
        plain = evaluate_words(
            gold,
            {"raw": by["mcc"]},
            offsets[kind],
            CorrectionSettings(samples=1000),
            probabilities={"raw": raw},
        )
        print(f"  before calibration: {shown(plain, 'raw', 'ece')}")
    spans(calibrated, tags, {kind: values[f"tgold_{kind}"] for kind in tags}, offsets)


def spans(
    bad: Mapping[str, Any], tags: Mapping[str, Any], gold: Mapping[str, Any], offsets: Mapping[str, Any]
) -> None:
    """BAD places of spans, beside their mass, by thirds of the mass."""
    mass, there = [], []
    both = zip(pairwise(offsets["word"].tolist()), pairwise(offsets["gap"].tolist()), strict=True)
    for words, gaps in both:
        for start, end in bad_spans(tags["word"][slice(*words)], tags["gap"][slice(*gaps)]):
            own = slice(words[0] + start, words[0] + end), slice(gaps[0] + start, gaps[0] + end + 1)
            mass.append(bad["word"][own[0]].sum() + bad["gap"][own[1]].sum())
            there.append(gold["word"][own[0]].sum() + gold["gap"][own[1]].sum())
    order = np.argsort(mass)
    r = np.corrcoef(mass, there)[0, 1]
    print(f"spans: {len(mass):,}, correlation of mass with BAD places {r:.3f}")
    for third in np.array_split(order, 3):
        means = np.mean(np.array(mass)[third]), np.mean(np.array(there)[third])
        print(f"  mean mass {means[0]:.3f}, BAD places {means[1]:.3f}")


if __name__ == "__main__":
    main()
