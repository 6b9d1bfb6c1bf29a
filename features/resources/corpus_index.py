"""CorpusIndex: the distinct segments of one side of the corpus, ready for exact nearest-neighbour search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from features.core.corpus import ParallelCorpus
from features.core.progress import Progress, silent
from features.core.resource import Resource, load_arrays, save_arrays
from features.core.threads import side_by_side
from features.core.tokens import Tokens
from features.core.vocabulary import Vocabulary
from features.resources._nearest import Ints, Longs, distinct_rows, frequent_counts, nearest_batch, postings
from features.resources._nearest_characters import CharacterBlocks
from features.resources._ngram_tables import encode

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


@dataclass(frozen=True, eq=False)
class CorpusIndex(Resource):
    """The distinct lower-cased segments by length, and where each word occurs.

    ids, offsets  the segments, shortest first
    counted       (64, segments) how often each of the 64 most frequent words occurs, 255 at most
    places        (rarer words + 1,) offsets into `segments` and `counts`: where each rarer word occurs,
                  and how often there
    """

    parts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "source_index": {"side": "source"},
        "target_index": {"side": "target"},
    }

    settings: Mapping[str, Any]
    corpus_fingerprint: str
    vocabulary: Vocabulary
    ids: Ints
    offsets: Longs
    counted: NDArray[np.uint8]
    places: Longs
    segments: Ints
    counts: NDArray[np.uint8]

    @classmethod
    def build(  # type: ignore[override]
        cls, corpus: ParallelCorpus, *, side: Literal["source", "target"], progress: Progress = silent
    ) -> Self:
        """From one side of a parallel corpus; linear in its length."""
        stage = f"indexing the {side} side"
        progress(stage, 0, 3)
        vocabulary, ids = encode(corpus.side(side).lower())
        rows = distinct_rows(ids, np.asarray(corpus.side(side).offsets, np.int64))
        chosen = Tokens((), ids, np.asarray(corpus.side(side).offsets, np.int64)).take(rows)
        progress(stage, 1, 3)
        counted = frequent_counts(chosen.ids, chosen.offsets)
        progress(stage, 2, 3)
        places, segments, counts = postings(chosen.ids, chosen.offsets, len(vocabulary))
        progress(stage, 3, 3)
        settings = {"side": side, "segments": len(rows)}
        return cls(
            settings,
            corpus.fingerprint,
            vocabulary,
            chosen.ids,
            chosen.offsets,
            counted,
            places,
            segments,
            counts,
        )

    def save(self, path: Path) -> None:
        self.vocabulary.save(path / "vocabulary.txt")
        meta = {"settings": dict(self.settings), "corpus_fingerprint": self.corpus_fingerprint}
        save_arrays(
            path,
            meta,
            ids=self.ids,
            offsets=self.offsets,
            counted=self.counted,
            places=self.places,
            segments=self.segments,
            counts=self.counts,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        meta, arrays = load_arrays(path)
        vocabulary = Vocabulary.load(path / "vocabulary.txt")
        return cls(meta["settings"], meta["corpus_fingerprint"], vocabulary, **arrays)

    @cached_property
    def _letters(self) -> tuple[Ints, Longs]:
        return _code_points(self.vocabulary.words)

    @cached_property
    def _by_characters(self) -> CharacterBlocks:
        return CharacterBlocks.of(self.ids, self.offsets, self._letters)

    def nearest(self, tokens: Tokens, *, by_characters: bool = False) -> Nearest:
        """The nearest corpus segments by words, exactly; slices of the batch on all cores.

        Words that the corpus lacks equal none of its words. Character edits are those into that segment;
        `by_characters`: the least of all segments, exactly, which takes about ten times as long.
        """
        lowered = tokens.lower()
        queries = lowered.ids_in(self.vocabulary)
        letters = _code_points(lowered.types)
        starts = range(0, len(tokens), _SLICE)
        parts = list(
            side_by_side(lambda start: self._slice(lowered, queries, letters, start, by_characters), starts)
        )
        found = np.concatenate(parts) if parts else np.empty((0, 3), np.int64)
        return Nearest(found[:, 0], found[:, 1], found[:, 2])

    def _slice(
        self, lowered: Tokens, queries: Ints, letters: tuple[Ints, Longs], start: int, by_characters: bool
    ) -> Longs:
        offsets = np.asarray(lowered.offsets[start : start + _SLICE + 1], np.int64)
        found = np.full((len(offsets) - 1, 3), -1, np.int64)
        longest, n = int(np.diff(offsets).max()), len(self.offsets) - 1
        small = longest < 2**8 and self.offsets[-1] - self.offsets[-2] < 2**15
        shared, bound = (
            np.zeros(n, np.uint8 if small else np.int32),
            np.zeros(n, np.int16 if small else np.int32),
        )
        corpus = (self.ids, self.offsets, self.counted, self.places, self.segments, self.counts)
        nearest_batch(
            queries, np.asarray(lowered.ids), offsets, letters, corpus, self._letters, shared, bound, found
        )
        if by_characters:
            self._by_characters.lower(np.asarray(lowered.ids), offsets, letters, found[:, 1])
        return found


def _code_points(words: Sequence[str]) -> tuple[Ints, Longs]:
    """The characters of words (code points plus one), one after the other, and (n + 1,) offsets."""
    ids = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.int32) + np.int32(1)
    return ids, np.cumsum([0, *map(len, words)], dtype=np.int64)
