"""CorpusIndex: one side's distinct segments, indexed for exact nearest-neighbour search."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from features.basics.array_types import Longs, rows_of
from features.basics.progress import Progress, silent
from features.basics.threads import side_by_side
from features.core.resource import Builder, Parts, Resource
from features.storage.damage import rising, typed, within
from features.text.corpus import ParallelCorpus, Side
from features.text.ngram_tables import encode
from features.text.tokens import UNK, Tokens, Vocabulary

Ints = NDArray[np.int32]

_SLICE = 64  # query segments per task of a thread
_FIRST_ROUND = 512  # approximate number of segments compared before bounds are checked again
_GROWTH = 4  # growth factor of rounds


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest corpus segment of each of n texts; -1 everywhere for an empty text.

    word_edits       (n,) least Levenshtein distance of words to any segment of the corpus
    character_edits  (n,) Levenshtein distance of characters (tokens joined by spaces) to that segment
    characters       (n,) characters of each text
    """

    word_edits: Longs
    character_edits: Longs
    characters: Longs


@dataclass(frozen=True, kw_only=True)
class CorpusIndexBuilder(Builder):
    side: Side

    def build(self, corpus: ParallelCorpus, progress: Progress = silent) -> "CorpusIndex":
        stage, text = f"indexing the {self.side} side", corpus.side(self.side)
        progress(stage, 0, 2)
        vocabulary, ids = encode(text.lower())
        progress(stage, 1, 2)
        first: dict[bytes, int] = {}
        for row, (low, high) in enumerate(pairwise(text.offsets.tolist())):
            if high > low:
                first.setdefault(ids[low:high].tobytes(), row)
        rows = np.fromiter(first.values(), np.int64, len(first))
        rows = rows[np.argsort(text.lengths[rows], kind="stable")]
        offsets, places = rows_of(np.asarray(text.offsets, np.int64), rows)
        progress(stage, 2, 2)
        settings = {**self.settings, "segments": len(rows)}
        return CorpusIndex(
            vocabulary, ids[places], offsets, settings=settings, corpus_fingerprint=corpus.fingerprint
        )


@dataclass(frozen=True, eq=False)
class CorpusIndex(Resource):
    """The distinct lower-cased segments, ordered by length.

    ids, offsets  the segments, shortest first
    """

    parts: ClassVar[Parts] = {"source_index": {"side": "source"}, "target_index": {"side": "target"}}
    builder = CorpusIndexBuilder

    vocabulary: Vocabulary
    ids: Ints
    offsets: Longs

    def check_arrays(self) -> None:
        typed("ids", self.ids, np.int32, None)
        typed("offsets", self.offsets, np.int64, None)
        rising("offsets", self.offsets, 0, len(self.ids), strictly=True)
        rising("lengths of the segments", np.diff(self.offsets), None, None)
        within("ids", self.ids, 0, len(self.vocabulary))

    def nearest(self, tokens: Tokens, *, by_characters: bool = False) -> Nearest:
        """Finds the nearest corpus segments by words exactly, on all cores.

        `by_characters`: the exact minimum of character edits over all segments, at about 180 times the cost.
        """
        lowered = tokens.lower()
        ids, offsets = lowered.ids_in(self.vocabulary), lowered.offsets
        result = np.full((len(tokens), 3), -1, np.int64)

        def search(start: int) -> None:
            for row in range(start, min(start + _SLICE, len(tokens))):
                if offsets[row + 1] > offsets[row]:
                    text = " ".join(lowered.words(row))
                    nearest, edits = self._nearest(ids[offsets[row] : offsets[row + 1]])
                    characters = Levenshtein.distance(text, self._text(nearest))
                    if by_characters:
                        characters = self._least_characters(text, characters)
                    result[row] = edits, characters, len(text)

        list(side_by_side(search, range(0, len(tokens), _SLICE)))
        return Nearest(*result.T)

    def _nearest(self, query: Ints) -> tuple[int, int]:
        """Row and edits of the nearest segment; bound: the longer length minus shared words (as bags)."""
        bounds = _bounds(self._shared(query), *self._occurrences[1:], self._lengths, len(query))
        totals = np.concatenate(([0], np.cumsum(_histogram(bounds))))
        words, symbols = np.unique(query, return_inverse=True)
        symbol_of = np.zeros(len(self.vocabulary), np.uint32)  # 0: a word not in the query
        symbol_of[words[words != UNK]] = np.flatnonzero(words != UNK) + 1
        text = _as_text(symbols.astype(np.uint32) + 1)
        nearest, best, low, size = 0, max(len(query), int(self._lengths[-1])) + 1, 0, _FIRST_ROUND
        while low < min(best, len(totals) - 1):
            high = max(int(np.searchsorted(totals, totals[low] + size, side="right")) - 1, low + 1)
            rows = np.flatnonzero((bounds >= low) & (bounds < min(high, best)))
            if len(rows):
                offsets, places = rows_of(self.offsets, rows)
                corpus = _as_text(symbol_of[self.ids[places]])
                texts = [corpus[a:b] for a, b in pairwise(offsets.tolist())]
                edits = cdist([text], texts, scorer=Levenshtein.distance, score_cutoff=best, dtype=np.int32)[
                    0
                ]
                place = np.lexsort((rows, bounds[rows], edits))[0]
                if edits[place] < best:
                    nearest, best = int(rows[place]), int(edits[place])
            low, size = high, size * _GROWTH
        return nearest, best

    @cached_property
    def _lengths(self) -> Ints:
        return np.diff(self.offsets).astype(np.int32)

    def _shared(self, query: Ints) -> Longs:
        keys = self._occurrences[0]
        words, counts = np.unique(query[query != UNK], return_counts=True)
        nth = np.concatenate([np.arange(count) for count in counts] or [counts])
        wanted = nth * len(self.vocabulary) + np.repeat(words, counts)
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known: Longs = places[keys[places] == wanted]
        return known

    @cached_property
    def _occurrences(self) -> tuple[Longs, Longs, Ints]:
        """Keys of nth occurrences (n * vocabulary size + word), ascending, starts and segments of each."""
        words, offsets = np.asarray(self.ids, np.int64), np.asarray(self.offsets)
        segments = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
        order = np.lexsort((segments, words))
        words, segments = words[order], segments[order]
        places = np.arange(len(words))
        first = np.append(True, (np.diff(words) != 0) | (np.diff(segments) != 0))[: len(words)]
        keys = (places - np.maximum.accumulate(np.where(first, places, 0))) * len(self.vocabulary) + words
        order = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[order], return_index=True)
        return distinct, np.append(starts, len(keys)), segments[order]

    def _text(self, row: int) -> str:
        ids = self.ids[self.offsets[row] : self.offsets[row + 1]].tolist()
        return " ".join(self.vocabulary.words[i] for i in ids)

    @cached_property
    def _texts(self) -> tuple[list[str], Longs]:
        texts = sorted(map(self._text, range(len(self.offsets) - 1)), key=len)
        return texts, np.fromiter(map(len, texts), np.int64, len(texts))

    def _least_characters(self, text: str, best: int) -> int:
        texts, lengths = self._texts
        first, last = np.searchsorted(lengths, [len(text) - best + 1, len(text) + best])
        near = texts[first:last]
        distances = cdist([text], near, scorer=Levenshtein.distance, score_cutoff=best, dtype=np.int32)
        return int(distances.min(initial=best))


def _as_text(symbols: NDArray[np.uint32]) -> str:
    return symbols.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@numba.njit(cache=True, nogil=True)
def _bounds(places: Any, starts: Any, segments: Any, lengths: Any, size: int) -> Any:
    bounds = np.maximum(lengths, np.int32(size))
    for place in places:
        for segment in segments[starts[place] : starts[place + 1]]:
            bounds[segment] -= 1
    return bounds


@numba.njit(cache=True, nogil=True)
def _histogram(bounds: Any) -> Any:
    counts = np.zeros(bounds.max() + 1, np.int64)
    for bound in bounds:
        counts[bound] += 1
    return counts
