"""Vocabulary: words <-> ids, as resources store them."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

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
