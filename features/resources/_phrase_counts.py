"""Phrase counts of word-aligned text: pairs, counts and probabilities, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.progress import Progress
from features.basics.threads import apply_to_each, side_by_side
from features.resources.phrases import (
    AlignedText,
    Ints,
    Keys,
    Longs,
    PhrasePairs,
    Singles,
    deal,
    extracted,
    find,
    weighted_key,
)

# Occurrences of phrase pairs held at a time, 10 bytes each: what does not fit is extracted in a further pass.
_HELD = 1 << 27
# Occurrences in a partition on average: its hash table, 28 bytes a slot, stays near the processor.
_PARTITION = 1 << 17
_BLOCKS = 64  # of sentences, dealt out to the threads
_MULTIPLIER, _U0, _U1, _U32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0), np.uint64(1), np.uint64(32)


@dataclass(frozen=True, eq=False)
class Entries:
    """The phrase pairs of one partition, in any order.

    keys      distinct source phrases, ascending; `totals`: how often each was extracted, with any target
    rows      (entries,) places in `keys`
    targets   (entries,) keys of the target phrases
    counts, forward_weight, backward_weight  (entries,)
    """

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
    """The phrase pairs extracted `minimum` times or more, and their target phrases' keys. The occurrences are
    dealt to partitions by the source phrase's key, and each partition is counted in a separate hash table;
    partitions ascend, as the keys do. Nothing depends on the number of threads.
    """
    entries = _counted(text, longest, minimum, progress)
    targets = np.unique(np.concatenate([np.unique(part.targets) for part in entries]))
    return entries, targets, _target_phrases(text.turned(), longest, targets, progress)


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
    pairs = PhrasePairs.empty(int(ends[-1]))
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


def _target_phrases(turned: AlignedText, longest: int, keys: Keys, progress: Progress) -> TargetPhrases:
    offsets = turned.source.offsets
    target_phrases = TargetPhrases(
        np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    )
    blocks = _blocks(offsets)

    def look_up(rows: tuple[int, int]) -> tuple[Ints, Ints]:
        phrases, counts = extracted(turned, longest, rows)
        return find(keys, phrases), counts

    for done, (rows, (places, counts)) in enumerate(
        zip(blocks, side_by_side(look_up, blocks), strict=True), start=1
    ):
        _tally(places, counts, offsets[rows[0]], *vars(target_phrases).values())
        progress("phrase table: target phrases", done, len(blocks))
    return target_phrases


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
    """The table's arrays, entries by source, then target phrase. `entries` is emptied as they fill."""
    keys = np.concatenate([part.keys for part in entries])
    sizes = np.concatenate([np.bincount(part.rows, minlength=len(part.keys)) for part in entries])
    ends = np.cumsum([len(part.rows) for part in entries])
    table: dict[str, NDArray[Any]] = {
        "source_keys": keys,
        "target_keys": targets,
        "offsets": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
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
