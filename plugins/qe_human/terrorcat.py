"""TerrorCat: which of two translations is better, learned from rankings by the classes of their errors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from features.basics.plugins import DISTRIBUTION, versions
from features.basics.progress import Progress, silent
from features.edits.class_errors import CLASSES, Labels, class_errors
from features.edits.edit_labels import WORD_CLASSES, word_groups
from features.storage.damage import Damaged, damage_reported
from features.storage.files import atomic_file
from features.text.stems import base_forms
from features.text.tokens import Tokens, ratio
from qe.data.labels import RATES, from_post_edits
from qe.data.reading import Reading
from qe.display.files import plain_fields
from qe.display.numbers import percent
from qe.display.summary import Printable
from qe.display.table import Column, Table
from qe.language.taggers import Tagger
from qe.learning.learner import LEARNERS
from qe.models.pipeline import Candidate
from qe.models.pipeline_file import load_pipeline, save_pipeline
from qe_human.effort.sets import AnnotatedTexts, tagged_texts
from qe_human.judgements.collection import CodeArray, JudgedPair

FREQUENCIES = (*RATES, *(f"b{name}" for name in RATES))
BY_WORD_CLASS = tuple(f"{name}_{word_class}" for name in RATES for word_class in WORD_CLASSES)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Errors per word (k, n, f) of k systems and n segments, by `names`; NaN if a side is empty."""

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    values: FloatArray
    names: tuple[str, ...] = FREQUENCIES


def error_frequencies(
    translations: Mapping[str, Sequence[str]],
    reference: Sequence[str],
    language: str,
    segments: Sequence[str] | None = None,
    progress: Progress = silent,
    tagger: Tagger | None = None,
) -> Frequencies:
    """Frequencies of every error class, with a tagger for every word class.

    translations  system -> n lines
    segments      n names; default: line numbers from 1

    Raises InputError for a language without base forms, and names that are not one per line, or twice.
    """
    names = tuple(str(i) for i in range(1, len(reference) + 1)) if segments is None else tuple(segments)
    if len(names) != len(reference):
        raise InputError(f"{len(names)} names of segments, but {len(reference)} references")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two segments are named '{twice}'")
    if tagger is not None:
        right = tagged_texts(reference, language, tagger, None, "the reference", progress)
        by_class = [
            _by_word_class(tagged_texts(lines, language, tagger, None, system, progress), right)
            for system, lines in translations.items()
        ]
        return Frequencies(tuple(translations), names, np.stack(by_class), BY_WORD_CLASS)
    base_forms((), language)  # refuses before any work is done
    values = [
        from_post_edits(lines, reference, language, progress).errors.rates()
        for lines in translations.values()
    ]
    return Frequencies(tuple(translations), names, np.stack(values))


def _by_word_class(hypothesis: AnnotatedTexts, reference: AnnotatedTexts) -> FloatArray:
    left, right = (
        (side.words.lower(), side.lemmas.lower(), side.classes) for side in (hypothesis, reference)
    )
    errors = class_errors(left[0], left[1], right[0], right[1])
    counts = _counts(errors.hypothesis, left[2])
    missing = CLASSES.index("missing")
    counts[:, missing] = _counts(errors.reference, right[2])[:, missing]
    lengths = np.repeat(errors.hypothesis_lengths[:, None], len(CLASSES), axis=1)
    lengths[:, missing] = errors.reference_lengths
    rates: FloatArray = ratio(counts, lengths[:, :, None]).reshape(len(counts), len(BY_WORD_CLASS))
    return rates


def _counts(labels: Labels, classes: Tokens) -> NDArray[np.int64]:
    counts = np.zeros((len(classes), len(CLASSES), len(WORD_CLASSES)), np.int64)
    text = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    wrong = labels > 0
    np.add.at(counts, (text[wrong], labels[wrong] - 1, word_groups(classes)[wrong]), 1)
    return counts


def read_texts(outputs: Mapping[str, Path], reference: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Translations by system, and the reference's lines; raises InputError for files of different length."""
    lines = Reading(Path()).lines(reference).texts
    texts = {system: Reading(Path()).lines(file).texts for system, file in outputs.items()}
    for system, translations in texts.items():
        if len(translations) != len(lines):
            raise InputError(
                f"{len(translations)} translations, but {len(lines)} references", location=outputs[system]
            )
    if len(texts) < 2:
        raise InputError("fewer than two systems", location="--outputs", remedy="give SYSTEM=FILE of each")
    return texts, lines


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """p pairs of translations of one segment, of which judges prefer one.

    segment             (p,) code of the segment
    better, worse       (p,) places of the systems
    equal, conflicting  number of pairs left out because all judges found them equal, or the votes are tied
    equals              (3, equal) segment and both systems of the pairs that all judges found equal
    """

    systems: tuple[str, ...]
    segment: CodeArray
    better: CodeArray
    worse: CodeArray
    equal: int
    conflicting: int
    equals: CodeArray = field(default_factory=lambda: np.zeros((3, 0), np.int32))


def ranked_pairs(judged: JudgedPair, reference: str | None = "_ref") -> RankedPairs:
    """Pairs by the majority of their judges, without ties, and without `reference` (None: with it).

    Raises InputError if only counts were given. Source: the TerrorCat paper, section 2.3.
    """
    tasks = judged.comparisons
    if tasks is None:
        raise InputError(f"{judged.name}: counts of judgements do not identify segments")
    kept = np.ones(len(tasks.first), np.bool_)
    if reference in tasks.systems:
        place = tasks.systems.index(str(reference))
        kept = (tasks.first != place) & (tasks.second != place)
    columns = tasks.segment[tasks.task], tasks.first, tasks.second
    keys = np.stack([column[kept] for column in columns], axis=1)
    outcome = tasks.outcome[kept].astype(np.int64)
    pairs, places = np.unique(keys, axis=0, return_inverse=True)
    places = places.ravel()
    votes = np.bincount(places, outcome, len(pairs))
    decided = np.bincount(places, outcome != 0, len(pairs)) > 0
    won = votes != 0
    segment, first, second = pairs[won].T
    first_wins = votes[won] > 0
    return RankedPairs(
        tasks.systems,
        segment,
        np.where(first_wins, first, second),
        np.where(first_wins, second, first),
        int((~decided).sum()),
        int((decided & ~won).sum()),
        pairs[~decided].T.astype(np.int32),
    )


NAME = "terrorcat.json"
_PIPELINE = "pipeline.skops"
_FORMAT = 2
_FOLDS = 5
_FEWEST = 20  # pairs to train on


@dataclass(frozen=True, eq=False)
class TerrorCat(Printable):
    """Says of two translations which is better, from the differences of their error frequencies.

    Attributes
    ----------
    slope : float
        Of the logistic function that turns a margin into the probability of being better, without
        intercept: fitted to margins of pairs whose segments were held out.
    about : dict of str to Any
        What it was trained from.
    names : tuple of str
        Of the frequencies.
    """

    pipeline: Pipeline
    candidate: Candidate
    language: str
    slope: float
    about: dict[str, Any]
    names: tuple[str, ...] = FREQUENCIES

    def margins(self, differences: FloatArray) -> FloatArray:
        """Margin (p,) by which the first translation is better; the other order gives the exact negative."""
        return _margins(self.pipeline, differences, self.names)

    def confidence(self, margins: FloatArray) -> FloatArray:
        """Certainty 0 .. 1 of decisions: |2 p - 1| of the probability p of being better."""
        return np.asarray(np.abs(2 * expit(self.slope * margins) - 1))

    def scores(self, frequencies: Frequencies, weighted: bool = True) -> FloatArray:
        """Share (n, k) of the others of its segment that each translation wins against.

        weighted  a win counts |2 p - 1|, the classifier's certainty, instead of 1

        Sources: the TerrorCat paper, section 1 and Figure 1; section 3.1, "weighted wins".
        """
        values = frequencies.values
        systems, segments = values.shape[:2]
        wins = np.zeros((segments, systems))
        for a in range(systems):
            for b in range(a + 1, systems):
                margin = self.margins(values[a] - values[b])
                reward = self.confidence(margin) if weighted else np.ones(segments)
                wins[:, a] += reward * (margin > 0)
                wins[:, b] += reward * (margin < 0)
        return np.asarray(wins / (systems - 1))

    def save(self, folder: Path) -> None:
        """Writes pipeline.skops and terrorcat.json, without pickle."""
        with atomic_file(folder / _PIPELINE) as temporary:
            save_pipeline(self.pipeline, temporary)
        told = {
            "format": _FORMAT,
            **self.candidate.settings(),
            "features": list(self.names),
            "target_language": self.language,
            "slope": self.slope,
            "about": self.about,
        }
        with atomic_file(folder / NAME) as temporary:
            temporary.write_text(json.dumps(told, indent=1, allow_nan=False) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TerrorCat":
        """Loads the files of `save`; raises InputError for anything else."""
        path = folder / NAME
        if not path.is_file():
            raise InputError("is no TerrorCat model", location=folder, remedy="make one: qe terrorcat train")
        with damage_reported("the model", path, "train it again"):
            told = json.loads(path.read_text("utf-8"))
            names = tuple(told["features"])
            if told["format"] != _FORMAT or names not in (FREQUENCIES, BY_WORD_CLASS):
                raise Damaged("written by another version")
            candidate = Candidate(str(told["learner"]), dict(told["learner_params"]))
            slope, language, about = float(told["slope"]), str(told["target_language"]), dict(told["about"])
            if not np.isfinite(slope):
                raise Damaged(f"the slope is {slope}")
        pipeline = load_pipeline(folder / _PIPELINE, candidate, len(names))
        return cls(pipeline, candidate, language, slope, about, names)


def train(
    pairs: RankedPairs,
    segment_names: Sequence[str],
    frequencies: Frequencies,
    language: str,
    *,
    learner: str = "ridge",
    learner_params: Mapping[str, Any] | None = None,
    reference: str = "_ref",
    seed: int = 0,
    progress: Progress = silent,
) -> TerrorCat:
    """Trains the classifier on ranked pairs, each in both directions.

    segment_names  names of the segments by the codes of the pairs
    frequencies    of the ranked systems; pairs of other systems or segments are left out
    reference      system whose translations have no errors: pairs with it are kept without frequencies
    learner        a learner of the project; it learns 1 for a better, -1 for a worse translation

    Raises InputError for fewer than 20 pairs, a learner that takes trees or kernels, and parameters that it
    does not take.
    """
    candidate = Candidate(learner, dict(learner_params or {}))
    if LEARNERS.get(learner).takes_trees or candidate.pairwise:
        raise InputError(f"the learner '{learner}' takes no plain features", location="--learner")
    differences, segment = differences_of(
        pairs.systems, pairs.segment, (pairs.better, pairs.worse), segment_names, frequencies, reference
    )
    if len(differences) < _FEWEST:
        raise InputError(
            f"{len(differences)} ranked pairs have translations, fewer than {_FEWEST}",
            remedy="systems and segments must have the names that the rankings give them; see --segments",
        )
    names, held_out = frequencies.names, np.empty(len(differences))
    folds = min(_FOLDS, len(np.unique(segment)))
    if folds < 2:
        raise InputError("all ranked pairs are of one segment")
    for done, (rows, test) in enumerate(GroupKFold(folds).split(differences, groups=segment)):
        progress("held-out margins", done, folds)
        fitted = _fitted(candidate, differences[rows], names, seed)
        held_out[test] = _margins(fitted, differences[test], names)
    both = np.concatenate([held_out, -held_out])[:, None]
    sides = np.repeat([1, 0], len(held_out))
    slope = float(LogisticRegression(fit_intercept=False, C=1e6).fit(both, sides).coef_[0, 0])
    right, equal = float(np.mean(held_out > 0)), float(np.mean(held_out == 0))
    about = {
        "pairs": len(differences), "left_out_equal": pairs.equal, "left_out_conflicting": pairs.conflicting,
        "left_out_without_translation": len(pairs.better) - len(differences),
        "segments": len(np.unique(segment)), "held_out_accuracy": right, "held_out_equal": equal,
        "folds": folds, "seed": seed, "versions": versions(DISTRIBUTION, "numpy", "scikit-learn"),
    }  # fmt: skip
    pipeline = _fitted(candidate, differences, names, seed)
    return TerrorCat(pipeline, candidate, language, slope, about, names)


def differences_of(
    systems: Sequence[str],
    segments: CodeArray,
    sides: tuple[CodeArray, CodeArray],
    segment_names: Sequence[str],
    frequencies: Frequencies,
    reference: str,
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Differences of frequencies (p, f), 0 for those of `reference`, and segments (p,)."""
    row = {name: i for i, name in enumerate(frequencies.segments)}
    perfect = np.zeros((1, len(frequencies.segments), len(frequencies.names)))
    values = np.concatenate([frequencies.values, perfect])
    column = {name: i for i, name in enumerate(frequencies.systems)} | {reference: len(frequencies.systems)}
    rows = np.array([row.get(segment_names[code], -1) for code in segments], np.int64).reshape(-1)
    first, second = (np.array([column.get(systems[i], -1) for i in side], np.int64) for side in sides)
    known = (rows >= 0) & (first >= 0) & (second >= 0)
    rows = rows[known]
    return values[first[known], rows] - values[second[known], rows], rows


def _fitted(candidate: Candidate, differences: FloatArray, names: Sequence[str], seed: int) -> Pipeline:
    both = np.concatenate([differences, -differences])
    sides = np.repeat([1.0, -1.0], len(differences))
    try:
        return candidate.pipeline(seed).fit(_frame(both, names), sides)
    except ValueError as error:
        raise InputError(f"learner '{candidate.learner}': {error}") from None


def _margins(pipeline: Pipeline, differences: FloatArray, names: Sequence[str]) -> FloatArray:
    there = np.asarray(pipeline.predict(_frame(differences, names)), np.float64)
    back = np.asarray(pipeline.predict(_frame(-differences, names)), np.float64)
    return np.asarray((there - back) / 2)


def _frame(differences: FloatArray, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(differences, columns=list(names))


LABELS = ("<", "=", ">")
DECISIONS = ("< 0.6-1.0", "< 0.3-0.6", "< 0.0-0.3", "0.0", "> 0.0-0.3", "> 0.3-0.6", "> 0.6-1.0")
_BOUNDS = (0.3, 0.6)


@dataclass(frozen=True, eq=False)
class Confusion:
    """Pairs (3, 7), each in both directions: LABELS (first worse, equal, better) by DECISIONS."""

    counts: NDArray[np.int64]

    @property
    def precision(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.counts.sum(axis=0, keepdims=True))

    @property
    def recall(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def tables(self) -> list[Table]:
        columns = [Column("People"), *(Column(name) for name in DECISIONS)]
        return [
            Table(
                title, columns, [[label, *map(percent, row)] for label, row in zip(LABELS, rows, strict=True)]
            )
            for title, rows in (("Precision", self.precision), ("Recall", self.recall))
        ]

    def to_json(self) -> dict[str, Any]:
        return plain_fields({
            "labels": LABELS, "decisions": DECISIONS, "counts": self.counts, "precision": self.precision,
            "recall": self.recall,
        })  # fmt: skip


def confusion(
    model: TerrorCat,
    pairs: RankedPairs,
    segment_names: Sequence[str],
    frequencies: Frequencies,
    reference: str = "_ref",
) -> Confusion:
    """Ranked and equal pairs by human and predicted preference (Table 4); raises InputError without any."""
    ranked = (pairs.segment, (pairs.better, pairs.worse), LABELS.index(">"))
    equal = (pairs.equals[0], (pairs.equals[1], pairs.equals[2]), LABELS.index("="))
    counts = np.zeros((len(LABELS), len(DECISIONS)), np.int64)
    for segments, sides, label in (ranked, equal):
        differences, _ = differences_of(pairs.systems, segments, sides, segment_names, frequencies, reference)
        if len(differences):
            margins = model.margins(differences)
            decided = np.sign(margins) * (1 + np.digitize(model.confidence(margins), _BOUNDS, right=True))
            np.add.at(counts[label], 3 + decided.astype(np.int64), 1)
    counts = counts + counts[::-1, ::-1]  # the other direction gives the exact opposite
    if not counts.any():
        raise InputError(
            "no judged pair has translations",
            remedy="systems and segments must have the names that the rankings give them; see --segments",
        )
    return Confusion(counts)
