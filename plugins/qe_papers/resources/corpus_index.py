"""CorpusIndex: one side's distinct segments, ready for exact nearest-neighbour search."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.resource import Builder, Parts, Resource
from features.storage.arrays import rising, typed, within
from features.storage.damage import Damaged
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import encode
from features.text.tokens import Tokens, rows_of
from features.text.vocabulary import Vocabulary
from qe_papers.resources._nearest import Ints, Longs, distinct_rows, frequent_counts, nearest_batch, postings
from qe_papers.resources._nearest_characters import SpelledSegments

_SLICE = 64  # segments that a thread searches for at a time


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest corpus segment of each of n texts; -1 everywhere for an empty text.

    word_edits        (n,) least Levenshtein distance of words to any segment of the corpus
    character_edits   (n,) Levenshtein distance of characters (tokens joined by blanks) to that segment; of
                      several at the same word distance the one with least (longer length minus shared
                      words), then the shortest, then the first
    characters        (n,) characters of each text
    """

    word_edits: Longs
    character_edits: Longs
    characters: Longs


@dataclass(frozen=True, kw_only=True)
class CorpusIndexBuilder(Builder):
    """From one side of a parallel corpus; linear in its length."""

    side: Side

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "CorpusIndex":
        stage, text = f"indexing the {self.side} side", corpus.side(self.side)
        progress(stage, 0, 3)
        vocabulary, ids = encode(text.lower())
        offsets = np.asarray(text.offsets, np.int64)
        rows = distinct_rows(ids, offsets)
        chosen_offsets, chosen_places = rows_of(offsets, rows)
        chosen = ids[chosen_places]
        progress(stage, 1, 3)
        counted = frequent_counts(chosen, chosen_offsets)
        progress(stage, 2, 3)
        places, segments, counts = postings(chosen, chosen_offsets, len(vocabulary))
        progress(stage, 3, 3)
        return CorpusIndex(
            vocabulary,
            chosen,
            chosen_offsets,
            counted,
            places,
            segments,
            counts,
            settings={**self.settings, "segments": len(rows)},
            corpus_fingerprint=corpus.fingerprint,
        )


@dataclass(frozen=True, eq=False)
class CorpusIndex(Resource):
    """The distinct lower-cased segments by length, and where each word occurs.

    ids, offsets  the segments, shortest first
    counted       (64, segments) how often each of the 64 most frequent words occurs, 255 at most
    places        (rarer words + 1,) offsets into `segments` and `counts`: where each rarer word occurs,
                  and how often there
    """

    parts: ClassVar[Parts] = {
        "source_index": {"side": "source"},
        "target_index": {"side": "target"},
    }
    builder = CorpusIndexBuilder

    vocabulary: Vocabulary
    ids: Ints
    offsets: Longs
    counted: NDArray[np.uint8]
    places: Longs
    segments: Ints
    counts: NDArray[np.uint8]

    def check_arrays(self) -> None:
        typed("ids", self.ids, np.int32, None)
        typed("offsets", self.offsets, np.int64, None)
        rising("offsets", self.offsets, 0, len(self.ids), strictly=True)
        rising("lengths of the segments", np.diff(self.offsets), None, None)
        within("ids", self.ids, 0, len(self.vocabulary))
        # Bounds on distances come from these counts, and room is made by the bounds.
        frequent = frequent_counts(self.ids, self.offsets)
        expected = frequent, *postings(self.ids, self.offsets, len(self.vocabulary))
        for name, counts in zip(("counted", "places", "segments", "counts"), expected, strict=True):
            typed(name, getattr(self, name), counts.dtype, *counts.shape)
            if not np.array_equal(getattr(self, name), counts):
                raise Damaged(f"`{name}` is not that of the segments")

    @cached_property
    def _letters(self) -> tuple[Ints, Longs]:
        return _code_points(self.vocabulary.words)

    @cached_property
    def _by_characters(self) -> SpelledSegments:
        return SpelledSegments.build(self.vocabulary.words, self.ids, self.offsets)

    def nearest(self, tokens: Tokens, *, by_characters: bool = False) -> Nearest:
        """The nearest corpus segments by words, exactly; slices of the batch on all cores. Words that the
        corpus lacks equal none of its words. Character edits are those into that segment;
        `by_characters`: the least of all segments, exactly, which takes about 180 times as long.
        """
        lowered = tokens.lower()
        queries = lowered.ids_in(self.vocabulary)
        letters = _code_points(lowered.types)
        starts = range(0, len(tokens), _SLICE)
        parts = list(
            side_by_side(lambda start: self._slice(lowered, queries, letters, start, by_characters), starts)
        )
        nearest = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
        return Nearest(nearest[:, 0], nearest[:, 1], nearest[:, 2])

    def _slice(
        self, lowered: Tokens, queries: Ints, letters: tuple[Ints, Longs], start: int, by_characters: bool
    ) -> Longs:
        offsets = np.asarray(lowered.offsets[start : start + _SLICE + 1], np.int64)
        nearest = np.full((len(offsets) - 1, 3), -1, np.int64)
        longest, n = int(np.diff(offsets).max()), len(self.offsets) - 1
        small = longest < 2**8 and self.offsets[-1] - self.offsets[-2] < 2**15
        shared, bound = (
            np.zeros(n, np.uint8 if small else np.int32),
            np.zeros(n, np.int16 if small else np.int32),
        )
        corpus = (self.ids, self.offsets, self.counted, self.places, self.segments, self.counts)
        nearest_batch(
            queries, np.asarray(lowered.ids), offsets, letters, corpus, self._letters, shared, bound, nearest
        )
        if by_characters:
            for row in np.flatnonzero(np.diff(offsets)):
                text = " ".join(lowered.words(start + int(row)))
                nearest[row, 1] = self._by_characters.distance(text, int(nearest[row, 1]))
        return nearest


def _code_points(words: Sequence[str]) -> tuple[Ints, Longs]:
    ids = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.int32) + np.int32(1)
    return ids, np.cumsum([0, *map(len, words)], dtype=np.int64)
