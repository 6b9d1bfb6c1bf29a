"""N-gram tables: every n-gram of an encoded text, counted and numbered order by order, and as one trie.

Everything is linear in the length of the text: positions are put in the order (context, last word) by a
counting sort, the two-pass radix sort whose first pass is shared by all orders.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.errors import InputError
from features.core.tokens import Tokens
from features.core.vocabulary import BOS, EOS, MARKERS, Vocabulary

Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]
Case = Literal["lower", "true"]

_LARGEST = 2**31 - 2  # positions and n-grams are numbered with 32 bits


def cased(tokens: Tokens, case: Case) -> Tokens:
    """The tokens as a resource with this `case` setting sees them."""
    if case not in ("lower", "true"):
        raise InputError(f"case must be 'lower' or 'true', but got {case!r}")
    return tokens.lower() if case == "lower" else tokens


def encode(tokens: Tokens, minimum: int = 1) -> tuple[Vocabulary, Ints]:
    """The vocabulary of words seen at least `minimum` times, and the text in its ids.

    A literal `<s>`, `</s>` or `<unk>` in the text is an unknown word, as `Vocabulary.lookup` has it.
    """
    marker = np.array([word in MARKERS for word in tokens.types], bool)
    ids = np.asarray(tokens.ids)
    countable = ids[~marker[ids]] if marker.any() else ids
    vocabulary, mapping = Vocabulary.by_frequency(tokens.types, countable, minimum)
    return vocabulary, mapping[ids] if len(mapping) else ids


def with_markers(ids: Ints, offsets: Offsets, *, backward: bool = False) -> tuple[Ints, Offsets]:
    """`<s> w1 ... wn </s>` for every text, words in reverse where `backward`; and the new offsets."""
    n = len(offsets) - 1
    lengths = np.diff(offsets)
    grown = np.asarray(offsets + 2 * np.arange(n + 1), np.int64)
    result = np.empty(len(ids) + 2 * n, np.int32)
    result[grown[:-1]] = BOS
    result[grown[1:] - 1] = EOS
    within = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
    place = np.repeat(grown[:-1] + 1, lengths) + within
    if backward:
        place = np.repeat(grown[:-1] + lengths, lengths) - within
    result[place] = ids
    return result, grown


@dataclass(frozen=True, eq=False)
class OrderTable:
    """The distinct n-grams of one order, numbered by (context number, last word).

    words   (size,) last word
    first   (size of the lower order + 1,) the n-grams extending context c are first[c]:first[c + 1]
    counts  (size,) occurrences
    suffix  (size,) number, in the lower order, of the n-gram without its first word; empty for order 1
    """

    words: Ints
    first: Ints
    counts: Ints
    suffix: Ints


def ngram_tables(ids: Ints, offsets: Offsets, vocabulary: int, order: int) -> Iterator[OrderTable]:
    """The tables of orders 1 .. order, in turn; n-grams do not cross texts.

    The table of order 1 lists the whole vocabulary, so that its numbers are word ids.

    Raises InputError for an order below 1, or a text of 2^31 tokens or more.
    """
    if order < 1:
        raise InputError(f"the order of n-grams must be at least 1, but got {order}")
    if len(ids) > _LARGEST:
        raise InputError(f"at most {_LARGEST} tokens can be counted, but the text has {len(ids)}")
    everything = np.arange(vocabulary, dtype=np.int32)
    counts = np.bincount(ids, minlength=vocabulary).astype(np.int32)
    empty = np.empty(0, np.int32)
    yield OrderTable(everything, np.array([0, vocabulary], np.int32), counts, empty)
    starts = np.zeros(len(ids) + 1, np.bool_)
    starts[offsets[:-1]] = True
    by_word = _sort_by_word(ids, vocabulary)
    numbers, size = np.array(ids, np.int32), vocabulary
    for _ in range(2, order + 1):
        first_position, positions = _sort_by_context(by_word, numbers, starts, size)
        size = _count_types(first_position, positions, ids)
        table, numbers = _number(first_position, positions, ids, numbers, size)
        yield OrderTable(*table)


@numba.njit(cache=True, nogil=True)
def _sort_by_word(ids: Ints, vocabulary: int) -> Ints:
    """Positions sorted by their word (stable)."""
    slot = np.zeros(vocabulary + 1, np.int64)
    for word in ids:
        slot[word + 1] += 1
    slot = np.cumsum(slot)
    result = np.empty(len(ids), np.int32)
    for position in range(len(ids)):
        word = ids[position]
        result[slot[word]] = position
        slot[word] += 1
    return result


@numba.njit(cache=True, nogil=True)
def _sort_by_context(
    by_word: Ints, numbers: Ints, starts: NDArray[np.bool_], contexts: int
) -> tuple[Ints, Ints]:
    """Positions that have a context, sorted by (context, word): where each context begins, and they."""
    begin = np.zeros(contexts + 1, np.int32)
    for position in range(1, len(by_word)):
        if not starts[position] and numbers[position - 1] >= 0:
            begin[numbers[position - 1] + 1] += 1
    for context in range(contexts):
        begin[context + 1] += begin[context]
    slot = begin[:-1].copy()
    result = np.empty(begin[-1], np.int32)
    for position in by_word:
        if not starts[position] and numbers[position - 1] >= 0:
            context = numbers[position - 1]
            result[slot[context]] = position
            slot[context] += 1
    return begin, result


@numba.njit(cache=True, nogil=True)
def _count_types(begin: Ints, positions: Ints, ids: Ints) -> int:
    """Distinct (context, word) among the sorted positions."""
    size = 0
    for context in range(len(begin) - 1):
        last = -1
        for k in range(begin[context], begin[context + 1]):
            word = ids[positions[k]]
            size += word != last
            last = word
    return size


@numba.njit(cache=True, nogil=True)
def _number(
    begin: Ints, positions: Ints, ids: Ints, numbers: Ints, size: int
) -> tuple[tuple[Ints, Ints, Ints, Ints], Ints]:
    """The table of the distinct n-grams, and the number of the n-gram that ends at each position (or -1)."""
    words, counts = np.empty(size, np.int32), np.zeros(size, np.int32)
    first, suffix = np.zeros(len(begin), np.int32), np.empty(size, np.int32)
    result = np.full(len(ids), -1, np.int32)
    current = -1
    for context in range(len(begin) - 1):
        last = -1
        for k in range(begin[context], begin[context + 1]):
            position = positions[k]
            if ids[position] != last:
                current += 1
                last = ids[position]
                words[current] = last
                suffix[current] = numbers[position]
            counts[current] += 1
            result[position] = current
        first[context + 1] = current + 1
    return (words, first, counts, suffix), result


@dataclass(frozen=True, eq=False)
class Trie:
    """The n-grams of orders 1 .. N as nodes, order after order, each order sorted by (context, last word).

    sizes  n-grams of each order; those of order 1 are the vocabulary, so that their nodes are word ids
    words  (nodes,) last word of each n-gram
    first  (nodes below order N + 1,) the children of node c are first[c]:first[c + 1]
    """

    sizes: tuple[int, ...]
    words: Ints
    first: Ints

    @classmethod
    def from_levels(cls, levels: list[tuple[Ints, Ints]]) -> "Trie":
        """From (words, first) per order, numbered within the order; order 1 lists the vocabulary.

        Raises InputError where there are 2^31 n-grams or more.
        """
        sizes = tuple(len(words) for words, _ in levels)
        if sum(sizes) > _LARGEST:
            raise InputError(
                f"at most {_LARGEST} n-grams fit a table, but there are {sum(sizes)}",
                remedy="lower the order",
            )
        begins = np.cumsum((0, *sizes))
        first = [
            (f[:-1] + begins[k]).astype(np.int32) for k, (_, f) in enumerate(levels[1:], start=1)
        ]  # the end of one context is the begin of the next, across orders too
        closed = np.concatenate([*first, begins[-1:].astype(np.int32)])
        return cls(sizes, np.concatenate([words for words, _ in levels]), closed)

    @property
    def order(self) -> int:
        return len(self.sizes)

    @cached_property
    def begins(self) -> Offsets:
        """(N + 1,) the nodes of order k are begins[k - 1]:begins[k]."""
        return np.cumsum((0, *self.sizes)).astype(np.int64)

    def nodes(self, order: int) -> slice:
        """The nodes of one order."""
        return slice(int(self.begins[order - 1]), int(self.begins[order]))

    def extend(self, contexts: Ints, ids: Ints, offsets: Offsets) -> Ints:
        """The nodes of the n-grams one longer: contexts[i - 1] followed by ids[i], -1 where there is none.

        contexts  (n_tokens,) node of an n-gram that ends at each token of the batch, or -1
        """
        return np.asarray(_extend(contexts, ids, offsets, self.words, self.first), np.int32)

    def ending(self, ids: Ints, offsets: Offsets, order: int) -> Ints:
        """(n_tokens,) node of the n-gram of that order which ends at each token; -1 where there is none."""
        nodes = np.array(ids, np.int32)
        for _ in range(1, order):
            nodes = self.extend(nodes, ids, offsets)
        return nodes


@numba.njit(cache=True, nogil=True, inline="always")
def child(words: Ints, low: int, high: int, word: int) -> int:
    """The node of `word` among the sorted siblings low:high, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1


@numba.njit(cache=True, nogil=True)
def _extend(contexts: Ints, ids: Ints, offsets: Offsets, words: Ints, first: Ints) -> Ints:
    result = np.full(len(ids), -1, np.int32)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text] + 1, offsets[text + 1]):
            context = contexts[i - 1]
            if context >= 0:
                result[i] = child(words, first[context], first[context + 1], ids[i])
    return result
