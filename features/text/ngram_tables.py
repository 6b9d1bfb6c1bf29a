"""N-gram tables: n-grams of an encoded text, counted and numbered by order, and a trie."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.errors import InputError
from features.basics.threads import apply_to_each, even_ranges, side_by_side
from features.storage.compact import Stored, check, gather, packed, read_at, stepped, unpacked
from features.storage.damage import Damaged, rising
from features.text.tokens import BOS, EOS, MARKERS, Tokens, Vocabulary

Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]
Case = Literal["lower", "true"]

_MAX_TOKENS = 2**31 - 2  # places and n-grams are numbered with 32 bits
_MIN_RANGE = 50_000  # tokens that are worth a range of their own
_FEW, _MANY = 32, 4096  # places sorted by insertion; places sorted in larger digits


def cased(tokens: Tokens, case: Case) -> Tokens:
    """The tokens as a resource with this `case` setting sees them."""
    if case not in ("lower", "true"):
        raise InputError(f"case must be 'lower' or 'true', but got {case!r}")
    return tokens.lower() if case == "lower" else tokens


def encode(tokens: Tokens, minimum: int = 1) -> tuple[Vocabulary, Ints]:
    """The vocabulary of words seen at least `minimum` times, and the text in its ids."""
    marker = np.array([word in MARKERS for word in tokens.types], bool)
    ids = np.asarray(tokens.ids)
    countable = ids[~marker[ids]] if marker.any() else ids
    vocabulary, mapping = Vocabulary.by_frequency(tokens.types, countable, minimum)
    return vocabulary, mapping[ids] if len(mapping) else ids


def with_markers(
    ids: Ints, offsets: Offsets, *, times: int = 1, backward: bool = False
) -> tuple[Ints, Offsets]:
    """`<s> w1 ... wn </s>` for each text (`backward`: reversed; `times` markers), and the new offsets."""
    grown = np.asarray(offsets + 2 * times * np.arange(len(offsets)), np.int64)
    return _marked(ids, np.asarray(offsets, np.int64), grown, times, backward), grown


@numba.njit(cache=True, nogil=True)
def _marked(ids: Ints, offsets: Offsets, grown: Offsets, times: int, backward: bool) -> Ints:
    result = np.empty(grown[-1], np.int32)
    for text in range(len(offsets) - 1):
        begin, end = grown[text] + times, grown[text + 1] - times
        result[grown[text] : begin] = BOS
        result[end : grown[text + 1]] = EOS
        for i in range(end - begin):
            result[end - 1 - i if backward else begin + i] = ids[offsets[text] + i]
    return result


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

    The table of order 1 lists the whole vocabulary, so that its numbers are word ids. Raises InputError for
    an order below 1, or a text of 2^31 tokens or more.
    """
    if order < 1:
        raise InputError(f"the order of n-grams must be at least 1, but got {order}")
    if len(ids) > _MAX_TOKENS:
        raise InputError(f"at most {_MAX_TOKENS} tokens can be counted, but the text has {len(ids)}")
    counts = occurrences(ids, vocabulary)
    everything, empty = np.arange(vocabulary, dtype=np.int32), np.empty(0, np.int32)
    yield OrderTable(everything, np.array([0, vocabulary], np.int32), counts, empty)
    following = _following(ids, np.asarray(offsets, np.int64))
    numbers = np.array(ids, np.int32)  # of the n-gram that ends at each place, order by order
    ranges = even_ranges(counts, _MIN_RANGE)
    places = list(side_by_side(lambda words: _places(ids, counts, *words), ranges))
    for _ in range(2, order + 1):
        within = [counts[low:high] for low, high in ranges]
        longer = list(side_by_side(lambda ends, times: _one_word_on(ends, times, following), places, within))
        places, words, times, children = (list(column) for column in zip(*longer, strict=True))
        ranges = list(pairwise(np.cumsum([0, *map(len, words)]).tolist()))
        counts = np.concatenate(times)
        suffix = _numbered(places, counts, ranges, numbers)
        first = np.cumsum(np.concatenate([np.zeros(1, np.int32), *children]), dtype=np.int32)
        yield OrderTable(np.concatenate(words), first, counts, suffix)


def _numbered(places: list[Ints], counts: Ints, ranges: list[tuple[int, int]], numbers: Ints) -> Ints:
    suffix = np.empty(len(counts), np.int32)

    def number(ends: Ints, span: tuple[int, int]) -> None:
        _number(ends, counts, *span, suffix, numbers)

    apply_to_each(number, places, ranges)
    return suffix


@numba.njit(cache=True, nogil=True)
def occurrences(ids: Ints, size: int) -> Ints:
    """Number (size,) of occurrences of the ids below `size`."""
    result = np.zeros(size, np.int32)
    for i in ids:
        result[i] += 1
    return result


@numba.njit(cache=True, nogil=True)
def _following(ids: Ints, offsets: Offsets) -> Ints:
    result = np.empty(len(ids), np.int32)
    for text in range(len(offsets) - 1):
        for place in range(offsets[text], offsets[text + 1]):
            result[place] = ids[place + 1] if place + 1 < offsets[text + 1] else -1
    return result


@numba.njit(cache=True, nogil=True)
def _places(ids: Ints, counts: Ints, low: int, high: int) -> Ints:
    slot = np.zeros(high - low + 1, np.int64)
    for word in range(low, high):
        slot[word - low + 1] = slot[word - low] + counts[word]
    result = np.empty(slot[-1], np.int32)
    for place in range(len(ids)):
        word = ids[place]
        if low <= word < high:
            result[slot[word - low]] = place
            slot[word - low] += 1
    return result


@numba.njit(cache=True, nogil=True)
def _one_word_on(places: Ints, counts: Ints, following: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    after = following[places]
    words, times = np.empty(len(places), np.int32), np.empty(len(places), np.int32)
    children, result = np.zeros(len(counts), np.int32), np.empty(len(places), np.int32)
    most = counts.max() if len(counts) else 0
    keys, spare = np.empty(most, np.int64), np.empty(most, np.int64)
    read, written, types = 0, 0, 0
    for context in range(len(counts)):
        size = 0
        for k in range(read, read + counts[context]):
            if after[k] >= 0:
                keys[size] = (np.int64(after[k]) << 32) | (places[k] + 1)
                size += 1
        read += counts[context]
        _sort(keys, spare, size)
        last = np.int64(-1)
        for k in range(size):
            word = keys[k] >> 32
            if word != last:
                words[types], times[types] = word, 0
                children[context] += 1
                types += 1
                last = word
            times[types - 1] += 1
            result[written + k] = keys[k] & 0xFFFFFFFF
        written += size
    return result[:written].copy(), words[:types].copy(), times[:types].copy(), children


@numba.njit(cache=True, nogil=True)
def _sort(keys: Any, spare: Any, size: int) -> None:
    if size <= _FEW:
        for i in range(1, size):
            key = keys[i]
            k = i
            while k > 0 and keys[k - 1] > key:
                keys[k] = keys[k - 1]
                k -= 1
            keys[k] = key
        return
    highest = np.int64(0)
    for i in range(size):
        highest |= keys[i]
    shift = 32
    bits = 8 if size < _MANY else 11
    slot = np.empty((1 << bits) + 1, np.int64)
    while highest >> shift:
        slot[:] = 0
        for i in range(size):
            slot[((keys[i] >> shift) & ((1 << bits) - 1)) + 1] += 1
        for digit in range(1 << bits):
            slot[digit + 1] += slot[digit]
        for i in range(size):
            digit = (keys[i] >> shift) & ((1 << bits) - 1)
            spare[slot[digit]] = keys[i]
            slot[digit] += 1
        for i in range(size):
            keys[i] = spare[i]
        shift += bits


@numba.njit(cache=True, nogil=True)
def _number(places: Ints, counts: Ints, low: int, high: int, suffix: Ints, numbers: Ints) -> None:
    k = 0
    for ngram in range(low, high):
        suffix[ngram] = numbers[places[k]]
        for _ in range(counts[ngram]):
            numbers[places[k]] = ngram
            k += 1


@dataclass(frozen=True, eq=False)
class Trie:
    """N-grams of orders 1 .. N as nodes, by order, then sorted by (context, last word).

    sizes  n-grams of each order; those of order 1 are the vocabulary, so that their nodes are word ids
    words  (nodes,) last word of each n-gram
    first  (nodes below order N + 1,) the children of node c are first[c]:first[c + 1]
    """

    sizes: tuple[int, ...]
    words: Stored
    first: Stored

    @classmethod
    def from_levels(cls, levels: list[tuple[Ints, Ints]]) -> "Trie":
        """From (words, first) per order, numbered within it; raises InputError from 2^31 n-grams on."""
        sizes = tuple(len(words) for words, _ in levels)
        if sum(sizes) > _MAX_TOKENS:
            raise InputError(
                f"at most {_MAX_TOKENS} n-grams fit a table, but there are {sum(sizes)}",
                remedy="lower the order",
            )
        begins = np.cumsum((0, *sizes))
        first = [
            (f[:-1] + begins[k]).astype(np.int32) for k, (_, f) in enumerate(levels[1:], start=1)
        ]  # the end of one context is the begin of the next, across orders too
        closed = np.concatenate([*first, begins[-1:].astype(np.int32)])
        return cls(sizes, np.concatenate([words for words, _ in levels]), closed)

    def compact(self) -> "Trie":
        return Trie(self.sizes, packed(self.words), stepped(self.first))

    def plain(self) -> "Trie":
        return Trie(self.sizes, unpacked(self.words), unpacked(self.first))

    def check_arrays(self, vocabulary: int) -> None:
        if not self.sizes or self.sizes[0] != vocabulary or any(size < 0 for size in self.sizes):
            raise Damaged(
                f"the sizes {self.sizes} do not begin with the {vocabulary} words of the vocabulary"
            )
        check("words", self.words, np.int32, self.begins[-1])
        check("first", self.first, np.int32, self.begins[-2] + 1)
        rising("first", unpacked(self.first), self.sizes[0], self.begins[-1])
        if (gather(self.first, self.begins[:-1]) != self.begins[1:]).any():
            raise Damaged("`first` gives n-grams children that are not one word longer")

    @property
    def order(self) -> int:
        return len(self.sizes)

    @cached_property
    def begins(self) -> Offsets:
        """(N + 1,) the nodes of order k are begins[k - 1]:begins[k]."""
        return np.cumsum((0, *self.sizes)).astype(np.int64)

    def nodes(self, order: int) -> slice:
        return slice(int(self.begins[order - 1]), int(self.begins[order]))

    def extend(self, contexts: Ints, ids: Ints, offsets: Offsets) -> Ints:
        """Nodes of the n-grams contexts[i - 1] (n_tokens,) followed by ids[i]; -1 if there is none."""
        return np.asarray(_extend(contexts, ids, offsets, self.words, self.first), np.int32)

    def ending(self, ids: Ints, offsets: Offsets, order: int) -> Ints:
        """Node (n_tokens,) of the n-gram of that order ending at each token; -1 without one."""
        nodes = np.array(ids, np.int32)
        for _ in range(1, order):
            nodes = self.extend(nodes, ids, offsets)
        return nodes


@numba.njit(cache=True, nogil=True, inline="always")
def child(words: Any, low: int, high: int, word: int) -> int:
    """The node of `word` among the sorted siblings low:high, or -1."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if read_at(words, middle) < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and read_at(words, low) == word else -1


@numba.njit(cache=True, nogil=True)
def _extend(contexts: Ints, ids: Ints, offsets: Offsets, words: Any, first: Any) -> Ints:
    result = np.full(len(ids), -1, np.int32)
    for text in range(len(offsets) - 1):
        for i in range(offsets[text] + 1, offsets[text + 1]):
            context = contexts[i - 1]
            if context >= 0:
                result[i] = child(words, read_at(first, context), read_at(first, context + 1), ids[i])
    return result


def unit_ngrams(tokens: Tokens, order: int) -> Tokens:
    """Overlapping n-grams of each text as tokens: max(m - order + 1, 0) of m tokens."""
    types, ids = np.array(tokens.types, object), np.asarray(tokens.ids)
    ends = np.repeat(np.asarray(tokens.offsets[1:]), tokens.lengths)
    names, numbers = types, ids.astype(np.int64)
    for length in range(2, order + 1):
        # The n-grams that begin at each position, numbered; those that leave the text fall away at the end.
        following = np.concatenate((ids[length - 1 :], np.zeros(min(length - 1, len(ids)), ids.dtype)))
        pairs, numbers = np.unique(numbers * len(types) + following, return_inverse=True)
        names = names[pairs // max(len(types), 1)] + " " + types[pairs % max(len(types), 1)]
    inside = np.arange(len(ids)) + order <= ends
    lengths = np.maximum(tokens.lengths - order + 1, 0)
    offsets = offsets_of(lengths)
    return Tokens(tuple(names.tolist()), numbers[inside].astype(np.int32), offsets)
