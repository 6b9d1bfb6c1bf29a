"""Tokens: the tokens of a batch of texts, columnar, with everything shared that can be."""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, row_index, rows_of
from features.storage.damage import rising, typed, within
from features.storage.files import digest, words_in, write_words

UNK, BOS, EOS = 0, 1, 2
MARKERS = ("<unk>", "<s>", "</s>")


class Vocabulary:
    """Words with ids 0 .. size - 1: `<unk>`, `<s>`, `</s>`, then the given ones, most frequent first.

    >>> v = Vocabulary(["the", "cat"])
    >>> len(v), v.lookup(["cat", "dog", "the"]).tolist(), v.word(3)
    (5, [4, 0, 3], 'the')
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*MARKERS, *words)

    def __len__(self) -> int:
        return len(self.words)

    def word(self, identifier: int) -> str:
        return self.words[identifier]

    @cached_property
    def index(self) -> dict[str, int]:
        """word -> id, without the markers (a literal `<s>` in text is an unknown word)."""
        return {word: i for i, word in enumerate(self.words[len(MARKERS) :], start=len(MARKERS))}

    def lookup(self, words: Sequence[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self.index.get, words, repeat(UNK)), np.int32, len(words))

    @cached_property
    def fingerprint(self) -> str:
        return digest("\n".join(self.words).encode())

    def save(self, path: Path) -> None:
        write_words(path, self.words[len(MARKERS) :])

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Loads a saved vocabulary; files with the same words share one vocabulary and its index."""
        content = path.read_bytes()
        key = hashlib.sha256(content).digest()
        if (known := _loaded.get(key)) is None:
            known = _loaded[key] = cls(words_in(content))
        return known

    @classmethod
    def by_frequency(
        cls, types: Sequence[str], ids: NDArray[np.int32], minimum: int = 1
    ) -> tuple["Vocabulary", NDArray[np.int32]]:
        """Vocabulary of encoded text, frequent words first; map old id -> new id (0: too rare)."""
        counts = np.bincount(ids, minlength=len(types))
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] >= max(minimum, 1)]
        mapping = np.zeros(len(types), np.int32)
        mapping[order] = np.arange(len(order)) + len(MARKERS)
        return cls([types[i] for i in order]), mapping


_loaded: WeakValueDictionary[bytes, Vocabulary] = WeakValueDictionary()  # by the checksum of the words


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of n texts as ids into their distinct types; immutable.

    types    distinct token strings, in order of first occurrence
    ids      (n_tokens,) int32, index into `types`
    offsets  (n + 1,) int64; text i is ids[offsets[i]:offsets[i + 1]]

    A property of a word is computed once per type and spread by `ids`; a sum over each text is `segment_sum`.

    >>> tokens = Tokens.from_lists([["a", "b", "a"], [], ["B"]])
    >>> tokens.types, tokens.ids.tolist(), tokens.offsets.tolist()
    (('a', 'b', 'B'), [0, 1, 0, 2], [0, 3, 3, 4])
    >>> tokens.lower().types, tokens.lower().ids.tolist()
    (('a', 'b'), [0, 1, 0, 1])
    """

    types: tuple[str, ...]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    _ids_in: dict[str, NDArray[np.int32]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_lists(cls, texts: Iterable[Sequence[str]]) -> "Tokens":
        index: dict[str, int] = {}
        ids: list[int] = []
        offsets = [0]
        for text in texts:
            ids.extend([index.setdefault(token, len(index)) for token in text])
            offsets.append(len(ids))
        return cls(tuple(index), np.array(ids, np.int32), np.array(offsets, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def check_arrays(self) -> None:
        typed("ids", self.ids, np.int32, None)
        typed("offsets", self.offsets, np.int64, None)
        within("ids", self.ids, 0, len(self.types))
        rising("offsets", self.offsets, 0, len(self.ids))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @cached_property
    def text_index(self) -> NDArray[np.int64]:
        return row_index(self.offsets)

    def words(self, i: int) -> list[str]:
        return [self.types[k] for k in self.ids[self.offsets[i] : self.offsets[i + 1]].tolist()]

    def lower(self) -> "Tokens":
        return self._lower

    @cached_property
    def _lower(self) -> "Tokens":
        return self.with_types(word.lower() for word in self.types)

    def with_types(self, types: Iterable[str]) -> "Tokens":
        """The same texts with other strings for the types, in their order; equal strings become one type."""
        index: dict[str, int] = {}
        mapping = np.array([index.setdefault(word, len(index)) for word in types], np.int32)
        return Tokens(tuple(index), mapping[self.ids] if len(mapping) else self.ids, self.offsets)

    def take(self, rows: NDArray[np.int64]) -> "Tokens":
        """The texts at `rows`, in that order; of less than half of the tokens, unused types are dropped."""
        offsets, index = rows_of(self.offsets, rows)
        ids = self.ids[index]
        if 2 * len(ids) >= len(self.ids):
            return Tokens(self.types, ids, offsets)
        kept = np.zeros(len(self.types), np.bool_)
        kept[ids] = True
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        return Tokens(tuple(self.types[k] for k in np.flatnonzero(kept).tolist()), numbers[ids], offsets)

    def ids_in(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Ids (n_tokens,) in a resource's vocabulary, 0 (`<unk>`) for others; computed once."""
        translated = self._ids_in.get(vocabulary.fingerprint)
        if translated is None:
            by_type = vocabulary.lookup(self.types)
            translated = by_type[self.ids] if len(self.types) else np.empty(0, np.int32)
            self._ids_in[vocabulary.fingerprint] = translated
        return translated

    @cached_property
    def fingerprint(self) -> str:
        return digest("\n".join(self.types).encode(), self.ids.tobytes(), self.offsets.tobytes())


class TokensBuilder:
    """Grows Tokens batch by batch, with 4 bytes per token and 8 per text.

    >>> builder = TokensBuilder()
    >>> builder.add(Tokens.from_lists([["a", "b"]]))
    >>> builder.add(Tokens.from_lists([["c", "a"], []]))
    >>> builder.tokens().types, builder.tokens().ids.tolist(), builder.tokens().offsets.tolist()
    (('a', 'b', 'c'), [0, 1, 2, 0], [0, 2, 4, 4])
    """

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._ids = array("i")
        self._offsets = array("q", [0])

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def add(self, tokens: Tokens) -> None:
        self.add_arrays(tokens.types, tokens.ids, tokens.offsets)

    def add_arrays(self, types: Sequence[str], ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Appends texts; `types` may repeat, or contain unused ones."""
        index = self._index
        order, ids = first_occurrence(ids, len(types))
        mapping = np.array([index.setdefault(types[i], len(index)) for i in order.tolist()], np.int32)
        self._offsets.frombytes((offsets[1:] + len(self._ids)).tobytes())
        self._ids.frombytes(mapping[ids].tobytes())

    def tokens(self) -> Tokens:
        ids, offsets = np.array(self._ids, np.int32), np.array(self._offsets, np.int64)
        return Tokens(tuple(self._index), ids, offsets)


def first_occurrence(ids: NDArray[np.int32], n_types: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Types in `ids`, in order of first occurrence; the ids renumbered to that order."""
    first = np.full(n_types, -1, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # the last assignment, that is the first place, stays
    used = np.flatnonzero(first >= 0)
    order = used[np.argsort(first[used])]
    mapping = np.zeros(n_types, np.int32)
    mapping[order] = np.arange(len(order))
    return order, mapping[ids] if n_types else ids


def segment_sum(values: NDArray[np.generic], offsets: NDArray[np.int64]) -> FloatArray:
    """Sums (n,) of the token values of each text; 0 for an empty text.

    >>> segment_sum(np.array([1.0, 2, 3]), np.array([0, 2, 2, 3]))
    array([3., 0., 3.])
    """
    n = len(offsets) - 1
    return np.bincount(row_index(offsets), weights=values.astype(np.float64), minlength=n)[:n].astype(
        np.float64
    )


def segment_mean(values: NDArray[np.generic], offsets: NDArray[np.int64]) -> FloatArray:
    """(n,) means of the token values of each text; NaN for an empty text."""
    return ratio(segment_sum(values, offsets), np.diff(offsets))


def segment_max(values: NDArray[np.generic], offsets: NDArray[np.int64]) -> FloatArray:
    """(n,) maxima of the token values of each text; NaN for an empty text."""
    result = np.full(len(offsets) - 1, np.nan)
    filled = np.diff(offsets) > 0
    if filled.any():
        result[filled] = np.maximum.reduceat(values.astype(np.float64), offsets[:-1][filled])
    return result


def segment_min(values: NDArray[np.generic], offsets: NDArray[np.int64]) -> FloatArray:
    """(n,) minima of the token values of each text; NaN for an empty text."""
    return -segment_max(-values.astype(np.float64), offsets)


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic]) -> FloatArray:
    """numerator / denominator, NaN if the denominator is 0: undefined, never a guessed value."""
    top, bottom = np.broadcast_arrays(numerator.astype(np.float64), denominator.astype(np.float64))
    result = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result
