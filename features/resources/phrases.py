"""Phrase pairs of word-aligned text: extraction, keys, counts and probabilities in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import offsets_of
from features.basics.distinct import find
from features.basics.progress import Progress, reported
from features.basics.threads import apply_to_each, side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Singles = NDArray[np.float32]
Masks = NDArray[np.bool_]

MOST_WORDS = 255  # of a phrase: 8 bits
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_U0, _U1, _U29, _U32 = np.uint64(0), np.uint64(1), np.uint64(29), np.uint64(32)


@dataclass(frozen=True, eq=False)
class AlignedSide:
    """One side of word-aligned text.

    ids      (n_tokens,) word ids, all above 0
    weights  (n_tokens,) log mean over a word's links of w(word | word of the other side)
    links    (n_links,) position of each link in its sentence
    """

    ids: Ints
    offsets: Longs
    weights: Singles
    links: Ints


@dataclass(frozen=True, eq=False)
class AlignedText:
    """Both sides; the links of sentence k are link_offsets[k] .. link_offsets[k + 1] of each."""

    source: AlignedSide
    target: AlignedSide
    link_offsets: Longs

    @property
    def links(self) -> tuple[Longs, Ints, Ints]:
        return self.link_offsets, self.source.links, self.target.links

    def turned(self) -> "AlignedText":
        return AlignedText(self.target, self.source, self.link_offsets)


@numba.njit(cache=True, nogil=True, inline="always")
def extended(key: Any, word: Any) -> Any:
    """The key of a phrase with one more word; 64 bits, so that 10^8 phrases collide with p = 3e-4."""
    mixed = (key ^ (np.uint64(word) + _U1)) * _MULTIPLIER
    return mixed ^ (mixed >> _U29)


@numba.njit(cache=True, nogil=True)
def phrase_keys(ids: Any, offsets: Any, longest: int, keys: Any) -> None:
    """keys[token, n - 1]: the key of the n words from there; 0 past the end or with an unknown word."""
    for k in range(len(offsets) - 1):
        for first in range(offsets[k], offsets[k + 1]):
            key = _MULTIPLIER
            for n in range(min(longest, offsets[k + 1] - first)):
                if ids[first + n] <= 0:
                    break
                key = extended(key, ids[first + n])
                keys[first, n] = key


def keys_of(ids: Ints, offsets: Longs, longest: int) -> Keys:
    keys = np.zeros((len(ids), longest), np.uint64)
    phrase_keys(ids, offsets, longest, keys)
    return keys


@numba.njit(cache=True, nogil=True)
def weighted_key(ids: Any, weights: Any, first: int, words: int) -> Any:
    key, weight = _MULTIPLIER, np.float32(0.0)
    for token in range(first, first + words):
        key = extended(key, ids[token])
        weight += weights[token]
    return key, weight


@numba.njit(cache=True, nogil=True)
def _reach(first: int, last: int, own_links: Any, other_links: Any, low: Any, high: Any) -> None:
    low[:], high[:] = 1 << 30, -1
    for e in range(first, last):
        low[own_links[e]] = min(low[own_links[e]], other_links[e])
        high[own_links[e]] = max(high[own_links[e]], other_links[e])


@numba.njit(cache=True, nogil=True)
def _spans(k: int, links: Any, length: int, width: int, longest: int) -> Any:
    offsets, own_links, other_links = links
    first, last = offsets[k], offsets[k + 1]
    low, high = np.empty(length, np.int32), np.empty(length, np.int32)
    back, front = np.empty(width, np.int32), np.empty(width, np.int32)
    _reach(first, last, own_links, other_links, low, high)
    _reach(first, last, other_links, own_links, back, front)
    lefts, rights = np.zeros((length, longest), np.int32), np.full((length, longest), -1, np.int32)
    for i in range(length):
        low_word, right = 1 << 30, -1
        for n in range(min(longest, length - i)):
            low_word, right = min(low_word, low[i + n]), max(right, high[i + n])
            if right < 0:
                continue
            if right - low_word >= longest:
                break
            inside = True
            for j in range(low_word, right + 1):
                if front[j] >= 0 and (back[j] < i or front[j] > i + n):
                    inside = False
                    break
            if inside:
                lefts[i, n], rights[i, n] = low_word, right
    return lefts, rights, front < 0


@numba.njit(cache=True, nogil=True)
def _partners(low_word: int, right: int, free: Any, longest: int) -> int:
    partners, first = 0, low_word
    while first >= 0 and right - first < longest and (first == low_word or free[first]):
        last = right
        while last < len(free) and last - first < longest and (last == right or free[last]):
            partners += 1
            last += 1
        first -= 1
    return partners


@numba.njit(cache=True, nogil=True)
def _count_partners(
    rows: Any, offsets: Any, other_offsets: Any, links: Any, longest: int, counts: Any
) -> None:
    base = offsets[rows[0]]
    for k in range(rows[0], rows[1]):
        length, width = offsets[k + 1] - offsets[k], other_offsets[k + 1] - other_offsets[k]
        lefts, rights, free = _spans(k, links, length, width, longest)
        for i in range(length):
            for n in range(longest):
                if rights[i, n] >= 0:
                    partners = _partners(lefts[i, n], rights[i, n], free, longest)
                    counts[offsets[k] + i - base, n] = partners


def extracted(text: AlignedText, longest: int, rows: tuple[int, int]) -> tuple[Keys, Ints]:
    """Keys (n_tokens, longest) of source phrases in the sentences `rows`; their numbers of target phrases."""
    first, last = rows
    side, start, end = text.source, text.source.offsets[first], text.source.offsets[last]
    counts = np.zeros((end - start, longest), np.int32)
    _count_partners(rows, side.offsets, text.target.offsets, text.links, longest, counts)
    keys = keys_of(side.ids[start:end], side.offsets[first : last + 1] - start, longest)
    keys[counts == 0] = 0
    return keys, counts


@numba.njit(cache=True, nogil=True)
def _deal(
    rows: Any, source: Any, other_offsets: Any, links: Any, longest: int, partition: Any, pairs: Any
) -> None:
    (ids, offsets), (shift, low, free_places), (sources, targets, shapes) = source, partition, pairs
    for k in range(rows[0], rows[1]):
        length, width = offsets[k + 1] - offsets[k], other_offsets[k + 1] - other_offsets[k]
        lefts, rights, free = _spans(k, links, length, width, longest)
        for i in range(length):
            key = _MULTIPLIER
            for n in range(min(longest, length - i)):
                key = extended(key, ids[offsets[k] + i + n])
                part = np.int64(key >> shift) - low
                if rights[i, n] < 0 or not 0 <= part < len(free_places):
                    continue
                low_word, right = lefts[i, n], rights[i, n]
                start = low_word
                while start >= 0 and right - start < longest and (start == low_word or free[start]):
                    end = right
                    while end < width and end - start < longest and (end == right or free[end]):
                        place = free_places[part]
                        sources[place], targets[place] = offsets[k] + i, other_offsets[k] + start
                        shapes[place] = (n + 1) << 8 | (end - start + 1)
                        free_places[part] = place + 1
                        end += 1
                    start -= 1


@dataclass(frozen=True, eq=False)
class PhrasePairs:
    """First token and number of words on each side; `shape` is source words << 8 plus target words."""

    source: Ints
    target: Ints
    shape: NDArray[np.uint16]


def deal(
    text: AlignedText, longest: int, rows: tuple[int, int], bits: int, low: int, places: Longs,
    pairs: PhrasePairs,
) -> None:  # fmt: skip
    """Adds the phrase pairs of the sentences `rows` to the partitions from `low`, at the next `places`."""
    source, partition = (text.source.ids, text.source.offsets), (np.uint64(64 - bits), low, places)
    found = pairs.source, pairs.target, pairs.shape
    _deal(rows, source, text.target.offsets, text.links, longest, partition, found)


# Occurrences of phrase pairs held at a time, 10 bytes each: what does not fit is extracted in a further pass.
_HELD = 1 << 27
# Occurrences in a partition on average: its hash table, 28 bytes a slot, stays near the processor.
_PARTITION = 1 << 17
_BLOCKS = 64  # of sentences, dealt out to the threads


@dataclass(frozen=True, eq=False)
class Entries:
    keys: Keys
    totals: Ints
    rows: Ints
    targets: Keys
    counts: Ints
    forward_weight: Singles
    backward_weight: Singles


@dataclass(frozen=True, eq=False)
class TargetPhrases:
    """Target phrases by ascending key: number of extractions, words, first occurrence."""

    totals: Ints
    lengths: Longs
    places: Longs


def count_phrases(
    text: AlignedText, longest: int, minimum: int, progress: Progress
) -> tuple[list[Entries], Keys, TargetPhrases]:
    """The phrase pairs extracted `minimum` times or more, and their target phrases' keys."""
    entries = _counted(text, longest, minimum, progress)
    keys = np.unique(np.concatenate([np.unique(part.targets) for part in entries]))
    target_phrases = TargetPhrases(
        np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    )
    turned, offsets = text.turned(), text.target.offsets
    blocks = _blocks(offsets)

    def look_up(rows: tuple[int, int]) -> tuple[Ints, Ints]:
        phrases, counts = extracted(turned, longest, rows)
        return find(keys, phrases), counts

    found = reported(side_by_side(look_up, blocks), progress, "phrase table: target phrases", len(blocks))
    for rows, (places, counts) in zip(blocks, found, strict=True):
        _tally(places, counts, offsets[rows[0]], *vars(target_phrases).values())
    return entries, keys, target_phrases


def _counted(text: AlignedText, longest: int, minimum: int, progress: Progress) -> list[Entries]:
    blocks = _blocks(text.source.offsets)
    bits, sizes = _sizes(text, longest, blocks)
    counted: list[Entries] = []
    for low, high in _passes(sizes.sum(axis=0)):
        pairs, ends = _partitioned(text, longest, blocks, bits, low, sizes[:, low:high])

        def count(part: tuple[int, int], pairs: PhrasePairs = pairs) -> Entries:
            return _entries(text, pairs, slice(*part), minimum)

        for entries in side_by_side(count, list(pairwise([0, *ends.tolist()]))):
            counted.append(entries)
            progress("phrase table: counting", len(counted), 1 << bits)
    return counted


def _blocks(offsets: Longs) -> list[tuple[int, int]]:
    edges = np.searchsorted(offsets, np.linspace(0, offsets[-1], _BLOCKS + 1))
    return list(pairwise(np.unique([0, *edges.tolist(), len(offsets) - 1]).tolist()))


def _sizes(text: AlignedText, longest: int, blocks: list[tuple[int, int]]) -> tuple[int, Longs]:
    most = max(1, (len(text.source.ids) * longest * longest // _PARTITION).bit_length())

    def count(rows: tuple[int, int]) -> Longs:
        keys, counts = extracted(text, longest, rows)
        parts = (keys >> np.uint64(64 - most)).astype(np.int64)
        return np.bincount(parts.ravel(), weights=counts.ravel(), minlength=1 << most).astype(np.int64)

    sizes = np.stack(list(side_by_side(count, blocks)))
    bits = min(most, max(1, (int(sizes.sum()) // _PARTITION).bit_length()))
    return bits, sizes.reshape(len(blocks), 1 << bits, -1).sum(axis=2)


def _passes(sizes: Longs) -> Iterator[tuple[int, int]]:
    first, held = 0, 0
    for part, size in enumerate(sizes.tolist()):
        if part > first and held + size > _HELD:
            yield first, part
            first, held = part, 0
        held += size
    yield first, len(sizes)


def _partitioned(
    text: AlignedText, longest: int, blocks: list[tuple[int, int]], bits: int, low: int, sizes: Longs
) -> tuple[PhrasePairs, Longs]:
    ends = np.cumsum(sizes.sum(axis=0))
    free = ends - sizes.sum(axis=0) + np.cumsum(sizes, axis=0) - sizes
    size = int(ends[-1])
    pairs = PhrasePairs(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint16))
    apply_to_each(lambda k: deal(text, longest, blocks[k], bits, low, free[k], pairs), range(len(blocks)))
    return pairs, ends


def _entries(text: AlignedText, pairs: PhrasePairs, part: slice, minimum: int) -> Entries:
    # Entries are at most the occurrences, and a total for each: never more than two thirds of the slots.
    slots = 1 << (3 * (part.stop - part.start) + 1).bit_length()
    sources, targets = np.zeros(slots, np.uint64), np.zeros(slots, np.uint64)
    counts = np.zeros(slots, np.int32)
    forwards, backwards = np.empty(slots, np.float32), np.empty(slots, np.float32)
    sides = (text.source.ids, text.source.weights), (text.target.ids, text.target.weights)
    found = pairs.source[part], pairs.target[part], pairs.shape[part]
    _fill(*sides, found, (sources, targets, counts, forwards, backwards))
    kept = np.flatnonzero(counts >= minimum)
    is_total = targets[kept] == 0
    kept, totals = kept[~is_total], kept[is_total]
    keys, rows = np.unique(sources[kept], return_inverse=True)
    totals = totals[np.argsort(sources[totals])]
    return Entries(
        keys,
        counts[totals[np.searchsorted(sources[totals], keys)]],
        rows.astype(np.int32),
        targets[kept],
        counts[kept],
        forwards[kept],
        backwards[kept],
    )


@numba.njit(cache=True, nogil=True)
def _fill(source: Any, target: Any, pairs: Any, table: Any) -> None:
    firsts, target_firsts, shapes = pairs
    run, n = 0, 0
    a, backward = _U0, np.float32(0.0)
    for e in range(len(firsts)):
        if e == 0 or firsts[e] != firsts[e - 1] or shapes[e] >> 8 != n:
            if run:
                _add(a, _U0, run, backward, backward, table)
            run, n = 0, shapes[e] >> 8
            a, backward = weighted_key(source[0], source[1], firsts[e], n)
        b, forward = weighted_key(target[0], target[1], target_firsts[e], shapes[e] & 255)
        _add(a, b, 1, forward, backward, table)
        run += 1
    if run:
        _add(a, _U0, run, backward, backward, table)


@numba.njit(cache=True, nogil=True)
def _add(source: Any, target: Any, times: int, forward: Any, backward: Any, table: Any) -> None:
    sources, targets, counts, forwards, backwards = table
    mask = np.uint64(len(counts) - 1)
    mixed = (source ^ (target * _MULTIPLIER)) * _MULTIPLIER
    slot = (mixed ^ (mixed >> _U32)) & mask
    while counts[slot] > 0 and (sources[slot] != source or targets[slot] != target):
        slot = (slot + _U1) & mask
    if counts[slot] == 0:
        sources[slot], targets[slot] = source, target
        forwards[slot], backwards[slot] = forward, backward
    else:
        forwards[slot], backwards[slot] = max(forward, forwards[slot]), max(backward, backwards[slot])
    counts[slot] += times


@numba.njit(cache=True, nogil=True)
def _tally(phrases: Any, counts: Any, base: int, totals: Any, lengths: Any, places: Any) -> None:
    for token in range(phrases.shape[0]):
        for n in range(phrases.shape[1]):
            phrase = phrases[token, n]
            if phrase >= 0:
                totals[phrase] += counts[token, n]
                if lengths[phrase] == 0:
                    lengths[phrase], places[phrase] = n + 1, base + token


def assembled(entries: list[Entries], targets: Keys, totals: Ints) -> dict[str, NDArray[Any]]:
    """The table's arrays, entries by source, then target phrase; `entries` is emptied as they fill."""
    keys = np.concatenate([part.keys for part in entries])
    sizes = np.concatenate([np.bincount(part.rows, minlength=len(part.keys)) for part in entries])
    ends = np.cumsum([len(part.rows) for part in entries])
    table: dict[str, NDArray[Any]] = {
        "source_keys": keys,
        "target_keys": targets,
        "offsets": offsets_of(sizes),
        "target": np.empty(ends[-1], np.int32),
        "counts": np.empty(ends[-1], np.int32),
    }
    names = ("forward", "backward", "forward_weight", "backward_weight")
    table |= {name: np.empty(ends[-1], np.float32) for name in names}
    left = dict(enumerate(entries))
    entries.clear()

    def place(k: int) -> None:
        part = left.pop(k)
        _place(part, slice(ends[k] - len(part.rows), ends[k]), find(targets, part.targets), totals, table)

    apply_to_each(place, range(len(ends)))
    return table


def _place(
    part: Entries, location: slice, columns: Ints, totals: Ints, table: dict[str, NDArray[Any]]
) -> None:
    order = np.argsort(part.rows.astype(np.int64) << 32 | columns)
    columns, counts = columns[order], part.counts[order]
    table["target"][location], table["counts"][location] = columns, counts
    table["forward"][location] = counts / part.totals[part.rows[order]]
    table["backward"][location] = counts / totals[columns]
    table["forward_weight"][location] = part.forward_weight[order]
    table["backward_weight"][location] = part.backward_weight[order]
