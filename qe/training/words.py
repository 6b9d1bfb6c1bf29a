"""Word-level results of a run: tags and P(BAD) of words, gaps and source words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from features.basics.array_types import BoolArray, FloatArray, IntArray
from features.storage.files import atomic_file
from features.word_level.labels import inserted_per_gap
from features.word_level.places import Kind, Places, WordLevelExtractor, judges
from qe.data.dataset import Split
from qe.display.numbers import fixed
from qe.evaluation.word_level import Bin, WordReport, evaluate_words
from qe.models.word_tags import METRICS, PlaceTags, WordTags
from qe.statistics.settings import CorrectionSettings
from qe.training.auxiliary import Fitting
from qe.training.preparation import Prepared

PARTS: Mapping[Kind, str] = {"word": "words", "gap": "gaps", "source": "source"}
_DIGITS = 6  # of P(BAD) in files
METRIC = "f1_mult"  # whose thresholds make the tags that are written


@dataclass(frozen=True, eq=False)
class Tagged:
    """Words or gaps of one kind: calibrated P(BAD), BAD tags by metric, offsets (n + 1,)."""

    bad: FloatArray
    tags: Mapping[str, BoolArray]
    offsets: IntArray

    @classmethod
    def by_tags(cls, places: Places, tags: PlaceTags) -> "Tagged":
        bad = tags.probability(places.bad)
        return cls(bad, {metric: bad >= tags.threshold(metric) for metric in METRICS}, places.offsets)


@dataclass(frozen=True, eq=False)
class Words:
    """Word-level results of a run, by kind of place.

    learned      the tagger of new text, from all training rows
    gold         whether places of the training rows are BAD
    raw          their P(BAD), out of fold, before calibration
    out_of_fold  the same rows by cross-validation: calibration and thresholds chosen inside the fold, too
    """

    learned: WordTags
    gold: Mapping[Kind, BoolArray]
    raw: Mapping[Kind, FloatArray]
    out_of_fold: Mapping[Kind, Tagged]
    splits: Mapping[str, Mapping[Kind, Tagged]]


def words_of(prepared: Prepared) -> Words | None:
    """None for a model without word-level extractors, and if all words have the same tag."""
    extraction, (_, fitting) = prepared.extraction, _fitting(prepared, None)
    known = judges(extraction.feature_set.extractors)
    gold = {kind: _gold(prepared, kind, i) for kind, i in known.items()}
    learned, folds = {}, {}
    for kind, i in known.items():
        how = _learned(prepared, kind, i, gold[kind], None)
        by_fold = _by_fold(prepared, kind, i, gold[kind])
        if how is not None and by_fold is not None:
            learned[kind], folds[kind] = how, by_fold
    if not learned:
        return None
    return Words(
        WordTags({str(kind): how for kind, how in learned.items()}, _insertions(prepared.training)),
        {kind: np.concatenate(gold[kind]) for kind in learned},
        {kind: raw for kind, (raw, _) in folds.items()},
        {kind: tagged for kind, (_, tagged) in folds.items()},
        {
            name: {
                kind: Tagged.by_tags(extraction.places(known[kind], fitting, split.segments)[kind], how)
                for kind, how in learned.items()
            }
            for name, split in prepared.dataset.splits.items()
            if name not in prepared.experiment.split.train
        },
    )


def word_section(words: Words | None, samples: int | None, seed: int) -> dict[str, Any] | None:
    """Part -> its figures by cross-validation, for report.json."""
    if words is None:
        return None
    section: dict[str, Any] = {}
    for kind, tagged in words.out_of_fold.items():
        by_metric = {m: _report(words, kind, m, tagged.bad, samples, seed).to_json() for m in METRICS}
        first, raw = by_metric[METRIC], words.raw[kind]
        section[PARTS[kind]] = {
            **{name: first[name] for name in ("segments", "tags", "bad", "recipe")},
            "thresholds": {metric: words.learned.places[kind].threshold(metric) for metric in METRICS},
            "tagged_by": {metric: report["systems"][metric] for metric, report in by_metric.items()},
            "ece_uncalibrated": _report(words, kind, METRIC, raw, 0, seed).scores[METRIC]["ece"],
            "reliability": first["reliability"][METRIC],
        }
    return section


def reliability_bins(words: Words) -> dict[str, dict[str, Sequence[Bin]]]:
    return {
        PARTS[kind]: {"out of fold": _report(words, kind, METRIC, tagged.bad, 0, 0).reliability[METRIC]}
        for kind, tagged in words.out_of_fold.items()
    }


def write_words(folder: Path, words: Words) -> None:
    """Writes NAME.tags and NAME.src_tags in the layout of the WMT tasks; P(BAD) to .probs and .src_probs."""
    for name, places in {"train": words.out_of_fold, **words.splits}.items():
        lines = {kind: _lines(tagged) for kind, tagged in places.items()}
        if "word" in lines and "gap" in lines:
            pairs = zip(lines["word"], lines["gap"], strict=True)
            rows = [(_interleaved(a, c), _interleaved(b, d)) for (a, b), (c, d) in pairs]
            _write(folder, f"{name}.tags", f"{name}.probs", rows)
        if "source" in lines:
            _write(folder, f"{name}.src_tags", f"{name}.src_probs", lines["source"])


def _gold(prepared: Prepared, kind: Kind, i: int) -> list[BoolArray]:
    extractor, training = prepared.extraction.feature_set.extractors[i], prepared.training
    assert isinstance(extractor, WordLevelExtractor)
    bad = extractor.bad_places(training.segments, training.labels())[kind]
    segments = training.segments
    lengths = segments.source_tokens.lengths if kind == "source" else segments.target_tokens.lengths
    return np.split(bad, np.cumsum(lengths + (kind == "gap"))[:-1])


def _fitting(prepared: Prepared, fold: int | None) -> tuple[IntArray, Split]:
    """The training rows of a fold (None: all), and the rows that families are fitted on: these come first."""
    training, n = prepared.training, len(prepared.training)
    rows, held_out = (np.arange(n), np.arange(0)) if fold is None else prepared.first_folds[fold]
    scored = training.segments.take(held_out)
    return rows, Fitting.for_fold(training.take(rows), prepared.auxiliaries, scored).split


def _learned(
    prepared: Prepared, kind: Kind, i: int, gold: Sequence[BoolArray], fold: int | None
) -> PlaceTags | None:
    extraction, (own, fitting) = prepared.extraction, _fitting(prepared, fold)
    if any(each.section.joint for each in prepared.auxiliaries):  # folds share no fits
        values = extraction.training_places(i, fitting, ())[kind][: len(own)]
        gold = [gold[row] for row in own]
    else:
        values = extraction.training_places(i, prepared.training, prepared.first_folds, fold)[kind]
    rows = [(tags, bad) for tags, bad in zip(gold, values, strict=True) if bad is not None]
    return PlaceTags.fit(np.concatenate([tags for tags, _ in rows]), np.concatenate([bad for _, bad in rows]))


def _by_fold(
    prepared: Prepared, kind: Kind, i: int, gold: Sequence[BoolArray]
) -> tuple[FloatArray, Tagged] | None:
    training, n = prepared.training, len(prepared.training)
    raw: list[FloatArray] = [np.empty(0)] * n
    bad: list[FloatArray] = [np.empty(0)] * n
    tags: dict[str, list[BoolArray]] = {metric: [np.empty(0, np.bool_)] * n for metric in METRICS}
    for number, (_, held_out) in enumerate(prepared.first_folds):
        how = _learned(prepared, kind, i, gold, number)
        if how is None:
            return None
        scoring = training.take(held_out).segments
        places = prepared.extraction.places(i, _fitting(prepared, number)[1], scoring)[kind]
        tagged = Tagged.by_tags(places, how)
        for row, *values in zip(
            held_out.tolist(), places.rows(), Places(tagged.bad, places.offsets).rows(), strict=True
        ):
            raw[row], bad[row] = values
            for metric in METRICS:
                tags[metric][row] = values[1] >= how.threshold(metric)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in raw])]).astype(np.int64)
    joined = {metric: np.concatenate(rows) for metric, rows in tags.items()}
    return np.concatenate(raw), Tagged(np.concatenate(bad), joined, offsets)


def _insertions(training: Split) -> float:
    segments, post_edit = training.segments, training.labels().get("post_edit")
    if post_edit is None:
        return 1.0
    edited = segments.target_tokenizer.tokens([str(text) for text in post_edit])
    return max(1.0, inserted_per_gap(segments.target_tokens.lower(), edited.lower()))


def _report(
    words: Words, kind: Kind, metric: str, bad: FloatArray, samples: int | None, seed: int
) -> WordReport:
    tagged = words.out_of_fold[kind]
    return evaluate_words(
        words.gold[kind], {metric: tagged.tags[metric]}, tagged.offsets,
        CorrectionSettings(samples=samples, seed=seed), probabilities={metric: bad},
    )  # fmt: skip


def _lines(tagged: Tagged) -> list[tuple[list[str], list[str]]]:
    tags = np.where(tagged.tags[METRIC], "BAD", "OK")
    return [
        (tags[a:b].tolist(), [fixed(value, _DIGITS) for value in tagged.bad[a:b]])
        for a, b in pairwise(tagged.offsets.tolist())
    ]


def _interleaved(words: Sequence[str], gaps: Sequence[str]) -> list[str]:
    return [text for pair in zip(gaps, [*words, ""], strict=True) for text in pair][:-1]


def _write(folder: Path, tags: str, probabilities: str, rows: Sequence[tuple[list[str], list[str]]]) -> None:
    for name, column in ((tags, 0), (probabilities, 1)):
        with atomic_file(folder / name) as temporary:
            temporary.write_text("".join(" ".join(row[column]) + "\n" for row in rows), "utf-8")
