"""Lexicon: IBM Model 1 translation probabilities t(target word | source word)."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, offsets_of
from features.basics.errors import InputError
from features.basics.hints import Count
from features.basics.progress import Progress, silent
from features.core.resource import Builder, OnlyForParts, Parts, Resource
from features.resources._alignment_models import encode, train
from features.resources.annotation import Annotation
from features.resources.morphemes import SAMPLE, Morphemes
from features.storage.compact import (
    Stored,
    check,
    coded,
    gather,
    length,
    listed,
    packed,
    read_at,
    readable,
    unpacked,
)
from features.storage.damage import finite, rising, typed, within
from features.storage.files import digest, read_lines
from features.text.annotation import Layer
from features.text.corpus import ParallelCorpus
from features.text.ngram_tables import child, unit_ngrams
from features.text.tokens import BOS, UNK, Tokens, Vocabulary, segment_sum

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Singles = NDArray[np.float32]
Table = tuple[Longs, Any, Any]  # offsets of the rows; columns, ascending in each row; values: what `at` reads
Texts = tuple[Ints, Longs]  # ids, offsets

_CELLS: Final = 1 << 22  # at a time: 16 MB
_SEARCH: Final = 8  # entries of a row that cost as much to spread as one to search for


def pair_values(
    table: Table, width: int, row_texts: Texts, column_texts: Texts
) -> Iterator[tuple[int, Longs, Singles]]:
    """Blocks of texts: the first text, (n + 1,) offsets of its texts' cells, the cells.

    Text k has a cell for each left word (rows of the table) and, within, each right word (columns, below
    `width`); 0 if the table has no such pair.
    """
    (left_ids, left_offsets), right = row_texts, (column_texts[0], np.asarray(column_texts[1]))
    sizes = np.diff(left_offsets) * np.diff(right[1])
    before = offsets_of(sizes)
    edges = np.searchsorted(before, np.arange(0, before[-1] + _CELLS, _CELLS))
    edges[-1] = len(sizes)
    for first, last in pairwise(np.unique(np.concatenate(([0], edges))).tolist()):
        offsets = offsets_of(sizes[first:last])
        start, end = left_offsets[first], left_offsets[last]
        here = np.ascontiguousarray(left_ids[start:end]), np.asarray(left_offsets) - start
        order = np.argsort(here[0], kind="stable")
        text = np.repeat(np.arange(first, last), np.diff(left_offsets[first : last + 1]))
        cells = np.empty(offsets[-1], np.float32)
        _fill(order, text, here, right, table, np.zeros(width, np.float32), offsets, first, cells)
        yield first, offsets, cells


@numba.njit(cache=True, nogil=True)
def _fill(
    order: Any, text: Any, row_texts: Any, right: Any, table: Any, dense: Any, offsets: Any, first_text: int,
    cells: Any,
) -> None:  # fmt: skip
    (left_ids, left_offsets), (right_ids, right_offsets), (rows, columns, values) = row_texts, right, table
    first = 0
    while first < len(order):
        row, last, wanted = left_ids[order[first]], first, 0
        while last < len(order) and left_ids[order[last]] == row:
            wanted += right_offsets[text[order[last]] + 1] - right_offsets[text[order[last]]]
            last += 1
        low, high = rows[row], rows[row + 1]
        spread = high - low <= wanted * _SEARCH
        if spread:
            for e in range(low, high):
                dense[read_at(columns, e)] = read_at(values, e)
        for token in order[first:last]:
            k = text[token]
            words = right_ids[right_offsets[k] : right_offsets[k + 1]]
            base = offsets[k - first_text] + (token - left_offsets[k]) * len(words)
            for j in range(len(words)):
                cells[base + j] = dense[words[j]] if spread else value(columns, values, low, high, words[j])
        if spread:
            for e in range(low, high):
                dense[read_at(columns, e)] = 0
        first = last


@numba.njit(cache=True, nogil=True)
def value(columns: Any, values: Any, low: int, high: int, column: int) -> Any:
    entry = child(columns, low, high, column)
    return read_at(values, entry) if entry >= 0 else np.float32(0)


Ids = NDArray[np.int32]
LexiconDirection = Literal["source_to_target", "target_to_source"]

# The NULL word has the row of `<s>`: no word of a text is ever looked up there.
NULL = BOS
# What GIZA++ takes for a pair that its table lacks (PROB_SMOOTH).
FLOOR = 1e-7
# Pairs of the corpus that the quartiles of word scores are taken from.
_SAMPLE = 10_000
# Translations above these are counted: probabilities do not cross them when they are stored.
ROUND = tuple(float(f"{digit}e-{place}") for place in range(1, 7) for digit in range(1, 10))
# Entries above this are kept beside the table once translations are counted: a small part of all.
_LIKELY = 0.01


@dataclass(frozen=True, eq=False)
class WordScores:
    """Scores of every target token, given its source sentence.

    probability  (n_tokens,) 1 / (l + 1) sum_{i=0..l} t(word | source_i); absent pairs count `FLOOR`
    maximum      (n_tokens,) max_i t(word | source_i), NULL included (Ueffing and Ney 2003); at least `FLOOR`
    offsets      (n + 1,) the tokens of each sentence
    """

    probability: FloatArray
    maximum: FloatArray
    offsets: NDArray[np.int64]

    def log10(self) -> FloatArray:
        """log10 p(target | source) (n,) without the length term; 0 for an empty target."""
        return segment_sum(np.log10(self.probability), self.offsets)


@dataclass(frozen=True, kw_only=True)
class LexiconBuilder(Builder):
    """Textbook EM from a uniform start. Memory grows with the pairs of words that occur together.

    layer   of the annotations, for parts that name these; their units are overlapping `ngrams` of tags
    sample  pairs, spread over the corpus, that parts of tags or morphemes are learned from
    """

    direction: LexiconDirection = "source_to_target"
    iterations: int = 5
    prune: float = 1e-6
    layer: Annotated[Layer, OnlyForParts("source_annotation")] = "xpos"
    ngrams: Annotated[Count, OnlyForParts("source_annotation")] = 1
    sample: Annotated[Count, OnlyForParts("source_annotation", "source_morphemes")] = SAMPLE
    source_annotation: Annotation | None = None
    target_annotation: Annotation | None = None
    source_morphemes: Morphemes | None = None
    target_morphemes: Morphemes | None = None

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Lexicon":
        text = self._text(corpus)
        given, generated = text.source, text.target
        if self.direction == "target_to_source":
            given, generated = generated, given
        lexicon = Lexicon.from_tokens(
            given,
            generated,
            iterations=self.iterations,
            prune=self.prune,
            stage=f"IBM Model 1{text.units}, {self.direction.replace('_', ' ')}",
            progress=progress,
            corpus_fingerprint=corpus.fingerprint,
        )
        return lexicon.with_settings(direction=self.direction, **text.recorded)

    def _text(self, corpus: ParallelCorpus) -> "_Text":
        if self.source_annotation is not None and self.target_annotation is not None:
            sides = self.source_annotation, self.target_annotation
            rows, prints = corpus.spread(self.sample), [side.fingerprint for side in sides]
            source, target = (unit_ngrams(side.layer(self.layer).take(rows), self.ngrams) for side in sides)
            recorded = {"layer": self.layer, "ngrams": self.ngrams, "sample": len(rows), "annotation": prints}
            return _Text(source, target, " of tags", recorded)
        if self.source_morphemes is not None and self.target_morphemes is not None:
            splitters = self.source_morphemes, self.target_morphemes
            rows, prints = corpus.spread(self.sample), [side.fingerprint for side in splitters]
            source, target = (
                splitter.units(side.take(rows))
                for splitter, side in zip(splitters, (corpus.source, corpus.target), strict=True)
            )
            return _Text(source, target, " of morphemes", {"sample": len(rows), "morphemes": prints})
        return _Text(corpus.source, corpus.target, "", {})


class _Entries(NamedTuple):
    source: Ids
    target: Ids
    values: NDArray[np.float32]


class _Text(NamedTuple):
    source: Tokens
    target: Tokens
    units: str
    recorded: Mapping[str, Any]


_TAGS: Final = {
    "ngrams": 4,
    "prune": 1e-5,
    "source_annotation": "source_annotation",
    "target_annotation": "target_annotation",
}
_MORPHEMES: Final = {
    "prune": 1e-5,
    "source_morphemes": "source_morphemes",
    "target_morphemes": "target_morphemes",
}


@dataclass(frozen=True, eq=False)
class Lexicon(Resource):
    """t(target|source) of IBM Model 1, lower-cased, with NULL. Brown et al. 1993, section 4.1. "Source" is
    the given word and "target" the generated one: in the part `lexicon_target_to_source` the given words are
    of the corpus's target language. The table is sparse: pairs that never occurred together, or whose
    probability is below the setting `prune`, are 0. Rows belong to words of `source` (NULL in row `NULL`),
    columns to words of `target`, ascending in each row. Parts of tags have overlapping 4-grams of detailed
    tags as units, those of morphemes morphemes (Popovic 2012, DFKI at WMT12, section 2.1, equations 2-3).

    log_likelihoods  of the corpus after 0, 1, ... iterations (natural logarithm)
    quartiles        the three quartiles of `WordScores.maximum` in the corpus (an even sample of its pairs);
                     empty for a lexicon that was read from a file, before `with_quartiles`
    """

    parts: ClassVar[Parts] = {
        "lexicon_source_to_target": {"direction": "source_to_target"},
        "lexicon_target_to_source": {"direction": "target_to_source"},
        "pos_lexicon_source_to_target": {"direction": "source_to_target", **_TAGS},
        "pos_lexicon_target_to_source": {"direction": "target_to_source", **_TAGS},
        "morpheme_lexicon_source_to_target": {"direction": "source_to_target", **_MORPHEMES},
        "morpheme_lexicon_target_to_source": {"direction": "target_to_source", **_MORPHEMES},
    }
    builder: ClassVar[type[Builder]] = LexiconBuilder
    version: ClassVar[int] = 2
    older: ClassVar[frozenset[int]] = frozenset({1})  # plain arrays

    source: Vocabulary
    target: Vocabulary
    offsets: NDArray[np.int64]
    columns: Stored
    values: Stored
    log_likelihoods: tuple[float, ...] = ()
    quartiles: tuple[float, ...] = ()
    _above: dict[tuple[float, str], NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_tokens(
        cls,
        given_words: Tokens,
        words: Tokens,
        *,
        iterations: int = 5,
        prune: float = 1e-6,
        stage: str = "IBM Model 1",
        progress: Progress = silent,
        corpus_fingerprint: str | None = None,
    ) -> Self:
        """t(word | given word) from pairs of texts; raises InputError if a side has no words."""
        if not len(given_words.ids) or not len(words.ids):
            raise InputError(f"{stage}: the texts are empty, or too short for n-grams of their tags")
        (source, given_ids), (target, word_ids) = encode(given_words.lower()), encode(words.lower())
        progress(stage, 0, iterations)
        full, likelihoods = train(
            given_ids, word_ids, NULL, iterations, lambda completed: progress(stage, completed, iterations)
        )
        table = full.pruned(prune)
        settings = {
            "iterations": iterations,
            "prune": prune,
            "entries": len(table.values),
            "entries_before_pruning": len(full.values),
        }
        lexicon = cls(
            source,
            target,
            table.offsets,
            packed(table.columns),
            coded(table.values.astype(np.float32), relative=True, edges=ROUND),
            tuple(likelihoods),
            settings=settings,
            corpus_fingerprint=digest(given_words.fingerprint, words.fingerprint)
            if corpus_fingerprint is None
            else corpus_fingerprint,
        )
        return lexicon.with_quartiles(given_words, words)

    def with_quartiles(self, given_words: Tokens, words: Tokens) -> Self:
        """The lexicon with the quartiles of its scores of pairs of texts that have words."""
        rows = np.linspace(0, len(given_words) - 1, min(len(given_words), _SAMPLE)).astype(np.int64)
        scores = self.score(given_words.take(rows), words.take(rows))
        return replace(self, quartiles=tuple(np.quantile(scores.maximum, (0.25, 0.5, 0.75)).tolist()))

    def check_arrays(self) -> None:
        typed("offsets", self.offsets, np.int64, len(self.source) + 1)
        check("columns", self.columns, np.int32, None)
        check("values", self.values, np.float32, length(self.columns))
        rising("offsets", self.offsets, 0, length(self.columns))
        within("columns", unpacked(self.columns), 0, len(self.target))
        finite("values", listed(self.values), 0, 1)

    @classmethod
    def read_lex(
        cls, path: Path, order: Literal["given_first", "generated_first"] = "given_first", null: str = "NULL"
    ) -> Self:
        """Reads a text file of three columns: two words and t(generated word | given word).

        `given_first` is GIZA++'s `actual.ti.final` and QuEst's `lex.e2s`; `generated_first` is Moses's
        `lex.f2e` and `lex.e2f`. Words are lower-cased; of equal pairs the larger probability stays. `null`
        names the NULL word. Raises InputError with file and line for a line that is not two words and a
        probability.
        """
        entries = _read_entries(path, order, null)
        source = Vocabulary(list(dict.fromkeys(g for g, _ in entries if g != null)))
        target = Vocabulary(list(dict.fromkeys(w for _, w in entries)))
        rows = source.lookup([g for g, _ in entries])
        rows[rows == UNK] = NULL
        columns = target.lookup([w for _, w in entries])
        by_row = np.lexsort((columns, rows))
        values = np.fromiter(entries.values(), np.float32, len(entries))[by_row]
        counts = np.bincount(rows, minlength=len(source))
        offsets = offsets_of(counts)
        fingerprint = digest(columns.tobytes(), rows.tobytes(), values.tobytes(), source.fingerprint)
        settings = {"read_from": path.name, "order": order, "entries": len(entries)}
        return cls(
            source,
            target,
            offsets,
            packed(columns[by_row]),
            values,  # what a file says is kept as it is
            settings=settings,
            corpus_fingerprint=fingerprint,
        )

    def probability(
        self, source_ids: NDArray[np.integer[Any]], target_ids: NDArray[np.integer[Any]]
    ) -> FloatArray:
        """t(target | source) elementwise (shapes broadcast) of ids; 0 for absent pairs and unknown words."""
        rows, right = np.broadcast_arrays(source_ids, target_ids)
        result = np.empty(rows.size)
        _lookup(rows.ravel(), right.ravel(), *self._table, result)
        return result.reshape(rows.shape)

    def translations_above(
        self, threshold: float, side: Literal["source", "target"] = "source"
    ) -> NDArray[np.int64]:
        """Number of entries with t > threshold, by word of that side's vocabulary (cached)."""
        key = (threshold, side)
        if key not in self._above:
            entries = self._likely if threshold >= _LIKELY else self._entries_above(threshold)
            ids = entries.source if side == "source" else entries.target
            size = len(self.source) if side == "source" else len(self.target)
            self._above[key] = np.bincount(ids[entries.values > np.float32(threshold)], minlength=size)
        return self._above[key]

    @cached_property
    def _likely(self) -> _Entries:
        return self._entries_above(_LIKELY)

    def _entries_above(self, threshold: float) -> _Entries:
        kept = np.flatnonzero(unpacked(self.values) > np.float32(threshold))
        kept = kept[(kept < self.offsets[NULL]) | (kept >= self.offsets[NULL + 1])]
        rows = np.searchsorted(self.offsets, kept, side="right") - 1
        return _Entries(rows.astype(np.int32), gather(self.columns, kept), gather(self.values, kept))

    @property
    def _table(self) -> tuple[Any, Any, Any]:
        return self.offsets, self.columns, readable(self.values)

    @cached_property
    def entropies(self) -> FloatArray:
        """Entropy in bits of t(.|source word), by source word, renormalised; NaN without entries."""
        result = np.empty(len(self.source))
        _entropies(self.offsets, readable(self.values), result)
        return result

    def score(self, source: Tokens, target: Tokens) -> WordScores:
        """Scores of each target token given its source, lower-cased (Brown et al. 1993, equation 15)."""
        given_words, words = source.lower().ids_in(self.source), target.lower().ids_in(self.target)
        probability, maximum = np.empty(len(words)), np.empty(len(words))
        source_offsets, word_offsets = np.asarray(source.offsets), np.asarray(target.offsets)
        with_null = np.insert(given_words, source_offsets[:-1], NULL)
        given = with_null, source_offsets + np.arange(len(source_offsets))
        blocks = pair_values(self._table, len(self.target), given, (words, word_offsets))
        for first, offsets, cells in blocks:
            _score((first, offsets, cells), given[1], word_offsets, probability, maximum)
        return WordScores(probability, maximum, target.offsets)


def _read_entries(path: Path, order: str, null: str) -> dict[tuple[str, str], float]:
    entries: dict[tuple[str, str], float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split()
        try:
            first, second, probability = columns[0], columns[1], float(columns[2])
        except (IndexError, ValueError):
            columns = []
        if len(columns) != 3 or not 0 <= probability <= 1:
            raise InputError(
                f"expected two words and a probability, but found {line[:80]!r}", location=f"{path}:{number}"
            )
        given_words, word = (first, second) if order == "given_first" else (second, first)
        pair = given_words if given_words == null else given_words.lower(), word.lower()
        entries[pair] = max(probability, entries.get(pair, 0.0))
    if not entries:
        raise InputError("no entries here", location=path)
    return entries


@numba.njit(cache=True, nogil=True)
def _lookup(rows: Any, right: Any, offsets: Any, columns: Any, values: Any, result: Any) -> None:
    for n in range(len(rows)):
        result[n] = value(columns, values, offsets[rows[n]], offsets[rows[n] + 1], right[n])


@numba.njit(cache=True, nogil=True)
def _entropies(offsets: Any, values: Any, result: Any) -> None:
    for row in range(len(offsets) - 1):
        total, weighted = 0.0, 0.0
        for e in range(offsets[row], offsets[row + 1]):
            t = read_at(values, e)
            total += t
            if t > 0:
                weighted += t * math.log(t)
        result[row] = (math.log(total) - weighted / total) / math.log(2.0) if total > 0 else np.nan


@numba.njit(cache=True, nogil=True)
def _score(block: Any, given_words: Any, words: Any, probability: Any, maximum: Any) -> None:
    first, offsets, cells = block
    for k in range(len(offsets) - 1):
        length = given_words[first + k + 1] - given_words[first + k]
        low, high = words[first + k], words[first + k + 1]
        probability[low:high], maximum[low:high] = 0.0, 0.0
        cell = offsets[k]
        for _ in range(length):
            for j in range(low, high):
                t = max(float(cells[cell]), FLOOR)
                probability[j] += t
                maximum[j] = max(maximum[j], t)
                cell += 1
        for j in range(low, high):
            probability[j] /= length
