# mypy: allow-untyped-decorators
"""PhraseWords: words of one side's phrases in the phrase table, and similar phrases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Final

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import Longs
from features.basics.progress import Progress, silent
from features.core.resource import Builder, Parts, Resource
from features.resources.phrase_table import PhraseTable
from features.resources.phrases import keys_of
from features.storage.damage import rows, within
from features.text.corpus import ParallelCorpus, Side
from features.text.tokens import Vocabulary

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]
Trigrams = tuple[Keys, Ints]
Phrase = tuple[str, ...]

SEGMENT: Final = 3  # minimum consecutive words shared by similar phrases: equation 3
LONGEST: Final = 5


@dataclass(frozen=True, kw_only=True)
class PhraseWordsBuilder(Builder):
    """Finds the phrases of the table in its training corpus."""

    phrase_table: PhraseTable
    side: Side

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "PhraseWords":
        text = corpus.side(self.side).lower()
        phrases = self.phrase_table.phrases(text, self.side)[:, SEGMENT - 1 : LONGEST]
        lengths, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for n, column in enumerate(phrases.T, start=SEGMENT):
            known, places = np.unique(column, return_index=True)
            first.append(places[known >= 0])
            lengths.append(np.full(len(first[-1]), n))
        starts = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64)
        index = np.arange(starts[-1]) + np.repeat(np.concatenate(first) - starts[:-1], np.diff(starts))
        vocabulary, mapping = Vocabulary.by_frequency(text.types, text.ids[index])
        return PhraseWords(
            vocabulary=vocabulary,
            starts=starts,
            words=mapping[text.ids[index]] if len(index) else np.empty(0, np.int32),
            settings=self.settings,
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PhraseWords(Resource):
    """Lower-cased words of phrases of 3 to 5 words; shorter phrases have no similar ones.

    Phrase p has words[starts[p] : starts[p + 1]], ids of `vocabulary`.
    """

    parts: ClassVar[Parts] = {"source_phrases": {"side": "source"}, "target_phrases": {"side": "target"}}
    builder: ClassVar[type[Builder]] = PhraseWordsBuilder

    vocabulary: Vocabulary
    starts: Longs
    words: Ints
    _phrases: dict[Phrase, tuple[Phrase, ...]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def check_arrays(self) -> None:
        rows(self.starts, len(self.starts) - 1, self.words, len(self.vocabulary))
        within("lengths of phrases", np.diff(self.starts), SEGMENT, LONGEST + 1)

    def phrase(self, place: int) -> Phrase:
        here = self.words[self.starts[place] : self.starts[place + 1]]
        return tuple(self.vocabulary.word(word) for word in here.tolist())

    def similar(self, patterns: Sequence[Phrase]) -> dict[Phrase, tuple[Phrase, ...]]:
        """Pattern -> similar phrases, without patterns that have none.

        A phrase p is similar to a pattern g if LCSQ(p, g)^2 / (|p| |g|) > 0.6, with the longest common
        subsequence, and LCSG(p, g) >= 3, with the longest common consecutive segment.

        Source: SJTU at WMT12, section 3.2, equations 2 and 3.
        """
        longer = [pattern for pattern in patterns if len(pattern) >= SEGMENT]
        self._look_up([pattern for pattern in longer if pattern not in self._phrases])
        return {pattern: self._phrases[pattern] for pattern in longer if self._phrases[pattern]}

    def _look_up(self, patterns: Sequence[Phrase]) -> None:
        begins = np.cumsum([0, *map(len, patterns)], dtype=np.int64)
        ids = self.vocabulary.lookup([word for pattern in patterns for word in pattern])
        words, starts, (keys, phrases) = np.asarray(self.words), np.asarray(self.starts), self._trigrams
        own = keys_of(ids, begins, SEGMENT)[:, SEGMENT - 1]
        low, high = np.searchsorted(keys, own, "left"), np.searchsorted(keys, own, "right")
        high[own == 0] = low[own == 0]
        sizes = np.cumsum(np.concatenate(([0], high - low)))[begins]
        rows, counts = np.empty(sizes[-1], np.int32), np.zeros(len(begins), np.int64)
        _gather(ids, begins, words, starts, phrases, low, high, rows, counts)
        for pattern, (first, end) in zip(patterns, pairwise(np.cumsum(counts).tolist()), strict=True):
            self._phrases[pattern] = tuple(self.phrase(place) for place in rows[first:end].tolist())

    @cached_property
    def _trigrams(self) -> Trigrams:
        keys = keys_of(np.asarray(self.words), np.asarray(self.starts), SEGMENT)[:, SEGMENT - 1]
        phrases = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        phrases, keys = phrases[keys > 0], keys[keys > 0]
        order = np.argsort(keys, kind="stable")
        return keys[order], phrases[order]


@numba.njit(cache=True, nogil=True)
def _gather(
    patterns: Any, begins: Any, words: Any, starts: Any, phrases: Any, low: Any, high: Any,
    rows: Any, counts: Any,
) -> None:  # fmt: skip
    seen = np.full(len(starts) - 1, -1, np.int64)
    room = np.zeros(
        (2, (begins[1:] - begins[:-1]).max() + 1 if len(begins) > 1 else 1, LONGEST + 1), np.int64
    )
    place = 0
    for k in range(len(begins) - 1):
        begin, length = place, begins[k + 1] - begins[k]
        for token in range(begins[k], begins[k + 1]):
            for entry in range(low[token], high[token]):
                phrase = phrases[entry]
                size = starts[phrase + 1] - starts[phrase]
                # Upper bound of equation 2: the shorter phrase is part of the longer one.
                if seen[phrase] == k or 5 * min(length, size) <= 3 * max(length, size):
                    continue
                seen[phrase] = k
                if _alike(patterns, begins[k], length, words, starts[phrase], size, room):
                    rows[place] = phrase
                    place += 1
        rows[begin:place].sort()
        counts[k + 1] = place - begin


@numba.njit(cache=True, nogil=True)
def _alike(firsts: Any, first: int, m: int, seconds: Any, second: int, n: int, room: Any) -> bool:
    sequence, segment = room  # of the preceding words; of segments that end here
    longest = 0
    for i in range(m):
        for j in range(n):
            if firsts[first + i] == seconds[second + j]:
                sequence[i + 1, j + 1] = sequence[i, j] + 1
                segment[i + 1, j + 1] = segment[i, j] + 1
                longest = max(longest, segment[i + 1, j + 1])
            else:
                sequence[i + 1, j + 1] = max(sequence[i, j + 1], sequence[i + 1, j])
                segment[i + 1, j + 1] = 0
    common = sequence[m, n]
    if common == m == n:
        return False
    return longest >= SEGMENT and 5 * common * common > 3 * m * n
