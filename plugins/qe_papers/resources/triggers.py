"""Triggers: mutual information of words in one segment, or in a segment pair."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, Longs
from features.basics.progress import Progress, silent
from features.basics.threads import even_ranges, side_by_side
from features.core.resource import Builder, Parts, Resource
from features.resources.lexicon import pair_values
from features.resources.word_lexicon import WordSets, inverted, segments_with
from features.storage.damage import finite, rows
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Tokens, Vocabulary, ratio

Ints = NDArray[np.int32]

_RANGES = 64  # word ranges per core between progress reports


@dataclass(frozen=True, kw_only=True)
class TriggersBuilder(Builder):
    """Counts pairs word by word on all cores, in time linear in the pairs of words in segments."""

    trigger_side: Side
    triggered_side: Side
    minimum: int = 5

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "Triggers":
        trigger_words, left_sets = _vocabulary(corpus.side(self.trigger_side), self.minimum)
        right, right_sets = trigger_words, left_sets
        if self.trigger_side != self.triggered_side:
            right, right_sets = _vocabulary(corpus.side(self.triggered_side), self.minimum)
        places, segments = inverted(left_sets.ids, left_sets.offsets, len(trigger_words))
        left_counts = np.diff(places)
        right_counts = np.bincount(right_sets.ids, minlength=len(right))
        offsets, columns, counts = [np.zeros(1, np.int64)], [], []
        blocks = even_ranges(left_counts, per_core=_RANGES)

        def count(block: tuple[int, int]) -> tuple[Any, ...]:
            counted: tuple[Any, ...] = _count_rows(
                *block, places, segments, right_sets.ids, right_sets.offsets, len(right), self.minimum
            )
            return counted

        for (_, stop), (sizes, partners, joint) in zip(blocks, side_by_side(count, blocks), strict=True):
            offsets.append(offsets[-1][-1] + np.cumsum(sizes))
            columns.append(partners)
            counts.append(joint)
            progress(f"triggers, {self.trigger_side} and {self.triggered_side}", stop, len(trigger_words))
        ends, words = np.concatenate(offsets), np.concatenate(columns)
        rows = np.repeat(np.arange(len(trigger_words)), np.diff(ends))
        pairs = np.concatenate(counts) / len(corpus)
        values = mutual_information(
            pairs, left_counts[rows] / len(corpus), right_counts[words] / len(corpus)
        ).astype(np.float32)
        if self.trigger_side == self.triggered_side:
            values[rows == words] = 0.0
        return Triggers(
            trigger_words, right, ends, words, values, settings={**self.settings, "pairs": len(words)},
            corpus_fingerprint=corpus.fingerprint,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Triggers(Resource):
    """I(w1, w2) = P(w1, w2) ln(P(w1, w2) / (P(w1) P(w2))) of lower-cased words; P is a share of segments.

    Pairs in fewer than `minimum` segments are left out and count 0, the limit of I for small P(w1, w2). For
    one side the table is symmetric, and a word has 0 with itself.

    offsets, columns, values  pairs of each word of `trigger_side` with words of `triggered_side`, ascending

    Source: Raybaud et al. 2011; LORIA at WMT12, equation 1.
    """

    parts: ClassVar[Parts] = {
        "source_triggers": {"trigger_side": "source", "triggered_side": "source"},
        "target_triggers": {"trigger_side": "target", "triggered_side": "target"},
        "cross_triggers": {"trigger_side": "target", "triggered_side": "source"},
    }
    builder = TriggersBuilder

    trigger_side: Vocabulary
    triggered_side: Vocabulary
    offsets: Longs
    columns: Ints
    values: NDArray[np.float32]

    def check_arrays(self) -> None:
        values = (self.values, np.float32)
        rows(self.offsets, len(self.trigger_side), self.columns, len(self.triggered_side), values=values)
        finite("values", self.values)

    def within(self, tokens: Tokens) -> FloatArray:
        """Mean (n,) over a text's tokens of the mean I with the others; NaN for fewer than two."""
        words = WordSets.from_tokens(tokens, self.trigger_side)
        return ratio(self._sums(words, words), tokens.lengths * (tokens.lengths - 1))

    def across(self, trigger_side: Tokens, triggered_side: Tokens) -> FloatArray:
        """Mean (n,) over `trigger_side` of the mean I with the other side; NaN if one is empty."""
        trigger_words = WordSets.from_tokens(trigger_side, self.trigger_side)
        right = WordSets.from_tokens(triggered_side, self.triggered_side)
        return ratio(self._sums(trigger_words, right), trigger_side.lengths * triggered_side.lengths)

    def _sums(self, trigger_words: WordSets, right: WordSets) -> FloatArray:
        result = np.zeros(len(trigger_words.sizes))
        table = (self.offsets, self.columns, self.values)
        sides = (trigger_words.ids, trigger_words.offsets), (right.ids, right.offsets)
        counts = (trigger_words.counts, trigger_words.offsets), (right.counts, right.offsets)
        for first, offsets, cells in pair_values(table, len(self.triggered_side), *sides):
            _add_up(cells, offsets, *counts, first, result)
        return result


def mutual_information(joint: FloatArray, trigger_words: FloatArray, right: FloatArray) -> FloatArray:
    """P(w1, w2) ln(P(w1, w2) / (P(w1) P(w2))), all P above 0."""
    values: FloatArray = joint * np.log(joint / (trigger_words * right))
    return values


def _vocabulary(tokens: Tokens, minimum: int) -> tuple[Vocabulary, WordSets]:
    lowered = tokens.lower()
    segments = segments_with(lowered)
    order = np.argsort(-segments, kind="stable")
    vocabulary = Vocabulary([lowered.types[i] for i in order[segments[order] >= minimum]])
    return vocabulary, WordSets.from_tokens(tokens, vocabulary)


@numba.njit(cache=True, nogil=True)
def _count_rows(
    start: int, stop: int, places: Any, segments: Any, ids: Any, offsets: Any, width: int, minimum: int
) -> Any:
    count, sizes = np.zeros(width, np.int32), np.zeros(stop - start, np.int64)
    columns, joint, n = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32), 0
    for word in range(start, stop):
        for p in range(places[word], places[word + 1]):
            for i in range(offsets[segments[p]], offsets[segments[p] + 1]):
                count[ids[i]] += 1
        if n + width > len(columns):
            columns = np.concatenate((columns, np.empty(len(columns) + width, np.int32)))
            joint = np.concatenate((joint, np.empty(len(joint) + width, np.int32)))
        for triggered_side in range(width):
            if count[triggered_side] >= minimum:
                columns[n], joint[n] = triggered_side, count[triggered_side]
                n += 1
                sizes[word - start] += 1
            count[triggered_side] = 0
    return sizes, columns[:n].copy(), joint[:n].copy()


@numba.njit(cache=True, nogil=True)
def _add_up(cells: Any, offsets: Any, triggers: Any, triggered: Any, first: int, result: Any) -> None:
    (trigger_words, left_offsets), (right, right_offsets) = triggers, triggered
    for k in range(len(offsets) - 1):
        text, c = first + k, offsets[k]
        for i in range(left_offsets[text], left_offsets[text + 1]):
            for j in range(right_offsets[text], right_offsets[text + 1]):
                result[text] += cells[c] * trigger_words[i] * right[j]
                c += 1
