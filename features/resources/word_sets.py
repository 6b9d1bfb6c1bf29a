"""Texts as sets: the distinct words of each text, and the texts that have each word."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.text.tokens import UNK, Tokens, Vocabulary

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordSets:
    """Distinct words of each text that a vocabulary has, ascending, with counts; `sizes`: of all words."""

    ids: Ints
    counts: Ints
    offsets: Longs
    sizes: Longs

    @classmethod
    def from_tokens(cls, tokens: Tokens, vocabulary: Vocabulary) -> "WordSets":
        lowered = tokens.lower()
        vocabulary_ids = vocabulary.lookup(lowered.types)
        ids, counts, lengths, sizes = _distinct(
            np.asarray(lowered.ids), np.asarray(lowered.offsets), vocabulary_ids
        )
        return cls(ids, counts, offsets_of(lengths), sizes)


def segments_with(tokens: Tokens) -> NDArray[np.int64]:
    """(types,) the number of texts that have each word.

    >>> segments_with(Tokens.from_lists([["a", "b", "a"], ["a"]]))
    array([2, 1])
    """
    counts: NDArray[np.int64] = _count(np.asarray(tokens.ids), np.asarray(tokens.offsets), len(tokens.types))
    return counts


@numba.njit(cache=True, nogil=True)
def _count(ids: Any, offsets: Any, types: int) -> Any:
    counts, last = np.zeros(types, np.int64), np.full(types, -1, np.int64)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            counts[ids[i]] += last[ids[i]] != text
            last[ids[i]] = text
    return counts


@numba.njit(cache=True, nogil=True)
def _distinct(ids: Any, offsets: Any, vocabulary_ids: Any) -> Any:
    distinct, counts, n = np.empty(len(ids), np.int32), np.zeros(len(ids), np.int32), 0
    lengths, sizes = np.zeros(len(offsets) - 1, np.int64), np.zeros(len(offsets) - 1, np.int64)
    for text in range(len(sizes)):
        words = np.sort(ids[offsets[text] : offsets[text + 1]])
        start = n
        for i in range(len(words)):
            new = i == 0 or words[i] != words[i - 1]
            sizes[text] += new
            if vocabulary_ids[words[i]] != UNK:
                n += new
                distinct[n - 1] = vocabulary_ids[words[i]]
                counts[n - 1] += 1
        order = np.argsort(distinct[start:n])
        distinct[start:n], counts[start:n] = distinct[start:n][order], counts[start:n][order]
        lengths[text] = n - start
    return distinct[:n].copy(), counts[:n].copy(), lengths, sizes


@numba.njit(cache=True, nogil=True)
def inverted(ids: Any, offsets: Any, vocabulary: int) -> Any:
    places = np.zeros(vocabulary + 1, np.int64)
    for word in ids:
        places[word + 1] += 1
    places = np.cumsum(places)
    end, texts = places[:-1].copy(), np.empty(len(ids), np.int32)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            texts[end[ids[i]]] = text
            end[ids[i]] += 1
    return places, texts
