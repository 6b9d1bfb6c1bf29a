"""Skip-grams of a corpus: n-grams with words left out, looked up by the words kept."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from features.text.ngram_tables import Ints, Trie


@dataclass(frozen=True, eq=False)
class SkipGrams:
    """The distinct skip-grams of one pattern.

    pattern  a word that is kept is 1, one that is skipped 0: `101` is the first and the third of three
    steps    per word kept after the first, the ascending keys (what was kept before, word); what was kept
             before is a word's id at first, then the place of its key in the step before
    """

    pattern: str
    vocabulary: int
    steps: tuple[NDArray[np.int64], ...]

    @classmethod
    def build(cls, trie: Trie, pattern: str) -> Self:
        """Skip-grams of all n-grams of the pattern's length that the trie has."""
        vocabulary = trie.sizes[0]
        columns = [column.astype(np.int64) for column in _words(trie, len(pattern), pattern)]
        kept, steps = columns[0], []
        for words in columns[1:]:
            keys, kept = np.unique(kept * vocabulary + words, return_inverse=True)
            steps.append(keys)
        return cls(pattern, vocabulary, tuple(steps))

    def occurrences(self, ids: Ints) -> NDArray[np.bool_]:
        """(n_places,) whether the skip-gram that ends at each place is there; no id below 0 is. The first
        places, where the pattern does not fit, have none.
        """
        size, places = len(self.pattern), len(ids)
        there = np.zeros(places, np.bool_)
        if places < size or not all(map(len, self.steps)):
            return there
        columns = [
            ids[j : places - size + 1 + j].astype(np.int64)
            for j, mark in enumerate(self.pattern)
            if mark == "1"
        ]
        known, kept = columns[0] >= 0, columns[0]
        for words, keys in zip(columns[1:], self.steps, strict=True):
            wanted = kept * self.vocabulary + words
            kept = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known &= (words >= 0) & (keys[kept] == wanted)
        there[size - 1 :] = known
        return there


def _words(trie: Trie, order: int, pattern: str) -> list[Ints]:
    columns: list[Ints] = []
    for n in range(1, order + 1):
        nodes = trie.nodes(n)
        if n > 1:
            below = trie.nodes(n - 1)
            children = np.diff(trie.first[below.start : below.stop + 1])
            columns = [np.repeat(column, children) for column in columns]
        if pattern[n - 1] == "1":
            columns.append(trie.words[nodes])
    return columns
