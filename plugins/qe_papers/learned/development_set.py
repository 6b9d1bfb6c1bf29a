"""Pairs of the corpus translated without them, and confidence of words learned from such pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from features.basics.array_types import BoolArray, FloatArray, Longs, offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count, Seed
from features.basics.progress import Progress, silent
from features.comparisons.phrase_decoder import decode
from features.core.resource import Builder, Parts, Resource
from features.learned.translated_corpus import reduced
from features.resources.language_model import LanguageModel
from features.resources.lexicon import Lexicon
from features.storage.damage import Damaged, finite, typed
from features.text.corpus import ParallelCorpus, Rows, held_out_lines, split_pairs
from features.text.tokens import UNK, Tokens, Vocabulary

EVIDENCE: Final = 3  # kinds: IBM Model 1, language model, longest n-gram in the model
_QUARTILES: Final = (0.25, 0.5, 0.75)

Ids = NDArray[np.int32]


def evidence_of(lexicon: Lexicon, model: LanguageModel, source: Tokens, target: Tokens) -> FloatArray:
    """Evidence (kinds, n_tokens) for target tokens; the smallest float if unknown."""
    scores = model.score(target)
    translated = lexicon.score(source, target).maximum
    kinds = np.array([translated, scores.token_log10, scores.token_matched], np.float64)
    return np.nan_to_num(kinds, nan=-1e9, neginf=-1e9)


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Counts of training words.

    words      training vocabulary
    edges      (kinds of evidence, bins - 1) between the bins of each kind
    seen       (criteria, words + markers, 2) wrong and right occurrences of every word; row 0: totals
    evidence   (criteria, kinds, words + markers, bins, 2) the same by bin
    quartiles  (criteria, 3) quartiles of the confidence of training words

    Source: Sanchis, Juan and Vidal 2007, Estimation of confidence measures for machine translation.
    """

    words: Vocabulary
    edges: NDArray[np.float64]
    occurrences: Longs
    evidence: Longs
    quartiles: NDArray[np.float64]

    @classmethod
    def fit(
        cls, words: Tokens, evidence: FloatArray, right: BoolArray, bins: int, smoothing: FloatArray
    ) -> Self:
        """Counts all words; `right` is (criteria, n), `smoothing` (criteria,) occurrences."""
        data = _Data.fit(words, evidence, right, bins)
        counts = data.counts()
        confidences = _confidences(data.ids, data.binned, *counts, smoothing)
        return cls(data.vocabulary, data.edges, *counts, np.quantile(confidences, _QUARTILES, axis=1).T)

    @classmethod
    def tuned(
        cls,
        words: Tokens,
        evidence: FloatArray,
        right: BoolArray,
        bins: int,
        grid: Sequence[float],
        folds: int,
    ) -> tuple[Self, FloatArray]:
        """The model, and its smoothing (criteria,), by errors in cross-validation over contiguous folds."""
        data = _Data.fit(words, evidence, right, bins)
        confidences = data.cross_fitted(words.text_index * folds // max(len(words), 1), grid)
        errors = [[error_rate(own, flags) for own, flags in zip(c, right, strict=True)] for c in confidences]
        best = np.argmin(errors, axis=0)
        own = confidences[best, np.arange(len(right))]
        counts = data.counts()
        quartiles = np.quantile(own, _QUARTILES, axis=1).T
        return cls(data.vocabulary, data.edges, *counts, quartiles), np.array(grid, np.float64)[best]

    def confidences(self, words: Tokens, evidence: FloatArray, smoothing: FloatArray) -> FloatArray:
        binned = _binned(evidence, self.edges)
        return _confidences(words.ids_in(self.words), binned, self.occurrences, self.evidence, smoothing)


def error_rate(confidences: FloatArray, right: BoolArray) -> float:
    """Share of wrongly classified words at the best threshold of confidence."""
    order = np.argsort(confidences, kind="stable")
    ordered = right[order].astype(np.int64)
    wrong = offsets_of(ordered) + offsets_of(1 - ordered[::-1])[::-1]
    values = confidences[order]
    between = np.concatenate([[True], values[1:] != values[:-1], [True]])  # equal values cannot be separated
    return float(wrong[between].min() / len(right))


@dataclass(frozen=True, eq=False)
class _Data:
    vocabulary: Vocabulary
    edges: NDArray[np.float64]
    ids: Ids
    binned: Longs
    right: BoolArray
    bins: int

    @classmethod
    def fit(cls, words: Tokens, evidence: FloatArray, right: BoolArray, bins: int) -> Self:
        vocabulary, _ = Vocabulary.by_frequency(words.types, words.ids)
        shares = np.arange(1, bins) / bins
        edges = np.array([np.quantile(kind, shares) for kind in evidence]).reshape(EVIDENCE, -1)
        return cls(vocabulary, edges, words.ids_in(vocabulary), _binned(evidence, edges), right, bins)

    def counts(self, rows: Any = slice(None)) -> tuple[Longs, Longs]:
        ids, binned = self.ids[rows], self.binned[:, rows]
        criteria, size = len(self.right), len(self.vocabulary)
        occurrences = np.zeros((criteria, size, 2), np.int64)
        evidence = np.zeros((criteria, len(binned), size, self.bins, 2), np.int64)
        for c, classes in enumerate(self.right[:, rows].astype(np.int64)):
            for words in (ids, np.full_like(ids, UNK)):
                np.add.at(occurrences[c], (words, classes), 1)
                for kind, places in zip(evidence[c], binned, strict=True):
                    np.add.at(kind, (words, places, classes), 1)
        return occurrences, evidence

    def cross_fitted(self, fold: Longs, grid: Sequence[float]) -> FloatArray:
        result = np.empty((len(grid), len(self.right), len(self.ids)))
        for f in np.unique(fold):
            counts = self.counts(fold != f)
            held = np.flatnonzero(fold == f)
            for g, smoothing in enumerate(grid):
                weights = np.full(len(self.right), smoothing, np.float64)
                result[g][:, held] = _confidences(self.ids[held], self.binned[:, held], *counts, weights)
        return result


def _binned(values: FloatArray, edges: FloatArray) -> Longs:
    pairs = zip(values, edges, strict=True)
    return np.array([np.searchsorted(e, v, side="right") for v, e in pairs], np.int64).reshape(values.shape)


def _confidences(
    ids: Ids, binned: Longs, occurrences: Longs, evidence: Longs, smoothing: FloatArray
) -> FloatArray:
    result = np.empty((len(occurrences), len(ids)))
    for c, (of_words, of_bins) in enumerate(zip(occurrences, evidence, strict=True)):
        prior = (of_words[0] + 1) / (of_words[0].sum() + 2)
        counts = of_words[ids] + smoothing[c] * prior
        logs = np.log(counts / counts.sum(axis=1, keepdims=True))
        for kind, places in zip(of_bins, binned, strict=True):
            general = (kind[0] + 1) / (kind[0].sum(axis=0) + evidence.shape[3])  # (bins, 2) P(bin | class)
            own = (kind[ids, places] + smoothing[c] * general[places]) / (of_words[ids] + smoothing[c])
            logs += np.log(own)
        result[c] = 1 / (1 + np.exp(np.clip(logs[:, 0] - logs[:, 1], -500, 500)))
    return result


_TEXTS: Final = ("source", "machine", "reference")
_MADE: Final = ("phrase_table", "target_lm", "lexicon_source_to_target")  # built from the rest of the corpus
_LEAST: Final = 20  # pairs
_SHARE: Final = 8  # one block in so many is drawn if no lines are given


@dataclass(frozen=True, kw_only=True)
class DevelopmentSetBuilder(Builder):
    """Selects lines `first_line` to `last_line` of the corpus, from 1, or draws `pairs` if both are 0."""

    first_line: Annotated[int, Ge(0)] = 0
    last_line: Annotated[int, Ge(0)] = 0
    pairs: Count = 2000
    seed: Seed = 0
    scratch: Path | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "DevelopmentSet":
        """Raises InputError for lines outside the corpus, and for too few pairs selected or remaining."""
        left, rows = self._rows(corpus)
        if min(len(rows), len(left)) < _LEAST:
            raise InputError(
                f"it needs {_LEAST} pairs, and as many others, but of {len(corpus)} pairs it has {len(rows)} "
                f"and {len(left)} others",
                location="development_set",
                remedy="set `first_line` and `last_line` to lines of the corpus, or give more text",
            )
        texts = corpus.take(rows)

        def report(stage: str, completed: int, total: int | None) -> None:
            progress(f"development set: {stage}", completed, total)

        with reduced(corpus.take(left), _MADE, {}, self.scratch, report) as made:
            machine = decode(texts.source, made["phrase_table"], made["target_lm"]).tokens
            lexicon, model = made["lexicon_source_to_target"], made["target_lm"]
            evidence = evidence_of(lexicon, model, texts.source, machine)
        return DevelopmentSet(
            texts.source, machine, texts.target.lower(), evidence,
            settings=self.settings, corpus_fingerprint=corpus.fingerprint,
        )  # fmt: skip

    def _rows(self, corpus: ParallelCorpus) -> tuple[Rows, Rows]:
        if not (self.first_line or self.last_line):
            return split_pairs(corpus, self.pairs, _SHARE, self.seed)
        if not 1 <= self.first_line <= self.last_line:
            raise InputError(
                f"`first_line` {self.first_line} and `last_line` {self.last_line} are no lines from 1 on",
                location="development_set",
                remedy="give the first and the last line of a part of the corpus",
            )
        return held_out_lines(corpus, self.first_line, self.last_line)


@dataclass(frozen=True, eq=False)
class DevelopmentSet(Resource):
    """Part of the corpus that replaces a translation system's development set.

    It is translated (`features.comparisons.phrase_decoder`) with resources built from pairs that share
    neither its sources nor its targets.

    source     (n texts) the sources
    machine    their translations, lower-cased
    reference  the other side of the pairs, lower-cased
    evidence   (kinds, n_tokens) evidence for the words of `machine` from those resources (`evidence_of`)
    """

    parts: ClassVar[Parts] = {"development_set": {}}
    builder: ClassVar[type[Builder]] = DevelopmentSetBuilder

    source: Tokens = field(repr=False)
    machine: Tokens = field(repr=False)
    reference: Tokens = field(repr=False)
    evidence: NDArray[np.float64] = field(repr=False)

    def check_arrays(self) -> None:
        for name in _TEXTS:
            tokens: Tokens = getattr(self, name)
            tokens.check_arrays()
            if len(tokens) != len(self.source):
                raise Damaged(f"{len(tokens)} texts of `{name}` for {len(self.source)} of `source`")
        typed("evidence", self.evidence, np.float64, EVIDENCE, len(self.machine.ids))
        finite("evidence", self.evidence)
