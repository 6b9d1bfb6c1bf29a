"""Phrase extraction: consistent phrase pairs of word-aligned text, counted in hash tables by partition."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Singles = NDArray[np.float32]

# Slots of a hash table at most: 28 bytes each, one table per thread.
MOST_SLOTS = 1 << 24
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_U0, _U1, _U29, _U32 = np.uint64(0), np.uint64(1), np.uint64(29), np.uint64(32)


@dataclass(frozen=True, eq=False)
class AlignedText:
    """Word ids of both sides, links by sentence, and per token the log lexical weight of its links."""

    source: Ints
    source_offsets: Longs
    target: Ints
    target_offsets: Longs
    link_offsets: Longs
    link_source: Ints
    link_target: Ints
    source_weight: Singles  # log mean over its links of w(source word | target word)
    target_weight: Singles


@dataclass(frozen=True, eq=False)
class Counted:
    """Entries of a hash table: pairs (a, b), source totals (a, 0) and target totals (0, b)."""

    source: Keys
    target: Keys
    counts: Ints
    forward: Singles
    backward: Singles


@numba.njit(cache=True, nogil=True, inline="always")
def _extended(key: Any, word: Any) -> Any:
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
                key = _extended(key, ids[first + n])
                keys[first, n] = key


@numba.njit(cache=True, nogil=True)
def _add(
    source: Any, target: Any, forward: Any, backward: Any, sources: Any, targets: Any, counts: Any,
    forwards: Any, backwards: Any,
) -> int:  # fmt: skip
    """Counts one entry, keeps its larger weights; 1 where it is new."""
    mask = np.uint64(len(counts) - 1)
    mixed = (source ^ (target * _MULTIPLIER)) * _MULTIPLIER
    slot = (mixed ^ (mixed >> _U32)) & mask
    while counts[slot] > 0 and (sources[slot] != source or targets[slot] != target):
        slot = (slot + _U1) & mask
    new = counts[slot] == 0
    if new:
        sources[slot], targets[slot] = source, target
        forwards[slot], backwards[slot] = forward, backward
    else:
        forwards[slot], backwards[slot] = max(forward, forwards[slot]), max(backward, backwards[slot])
    counts[slot] += 1
    return int(new)


@numba.njit(cache=True, nogil=True)
def _spans_of_links(first: int, last: int, own: Any, other: Any, low: Any, high: Any) -> None:
    """Least and greatest linked position of every word; low > high for a word without links."""
    low[:], high[:] = 1 << 30, -1
    for e in range(first, last):
        low[own[e]] = min(low[own[e]], other[e])
        high[own[e]] = max(high[own[e]], other[e])


@numba.njit(cache=True, nogil=True)
def _fill(
    source: Any, source_offsets: Any, target: Any, target_offsets: Any, link_offsets: Any, link_source: Any,
    link_target: Any, source_weight: Any, target_weight: Any, source_keys: Any, target_keys: Any,
    longest: int, part: Any, shift: Any, sources: Any, targets: Any, counts: Any, forwards: Any,
    backwards: Any,
) -> int:  # fmt: skip
    """Counts all entries whose key lies in the partition; -1 where the table is too small for them."""
    used, limit = 0, int(len(counts) * 0.75)
    for k in range(len(source_offsets) - 1):
        if used > limit:
            return -1
        s0, t0 = source_offsets[k], target_offsets[k]
        length, width = source_offsets[k + 1] - s0, target_offsets[k + 1] - t0
        slow, shigh = np.empty(length, np.int32), np.empty(length, np.int32)
        tlow, thigh = np.empty(width, np.int32), np.empty(width, np.int32)
        _spans_of_links(link_offsets[k], link_offsets[k + 1], link_source, link_target, slow, shigh)
        _spans_of_links(link_offsets[k], link_offsets[k + 1], link_target, link_source, tlow, thigh)
        for i in range(length):
            left, right, backward = 1 << 30, -1, np.float32(0.0)
            for n in range(min(longest, length - i)):
                left, right = min(left, slow[i + n]), max(right, shigh[i + n])
                backward += source_weight[s0 + i + n]
                if right < 0:
                    continue
                if right - left >= longest:
                    break
                inside = True
                for j in range(left, right + 1):
                    if thigh[j] >= 0 and (tlow[j] < i or thigh[j] > i + n):
                        inside = False
                        break
                if not inside:
                    continue
                a = source_keys[s0 + i, n]
                first = left
                while first >= 0 and right - first < longest and (first == left or thigh[first] < 0):
                    last, forward = right, np.float32(0.0)
                    for j in range(first, right):
                        forward += target_weight[t0 + j]
                    while last < width and last - first < longest and (last == right or thigh[last] < 0):
                        forward += target_weight[t0 + last]
                        b = target_keys[t0 + first, last - first]
                        if a >> shift == part:
                            used += _add(
                                a, b, forward, backward, sources, targets, counts, forwards, backwards
                            )
                            used += _add(
                                a, _U0, forward, backward, sources, targets, counts, forwards, backwards
                            )
                        if b >> shift == part:
                            used += _add(
                                _U0, b, forward, backward, sources, targets, counts, forwards, backwards
                            )
                        last += 1
                    first -= 1
    return used


def keys_of(ids: Ints, offsets: Longs, longest: int) -> Keys:
    """(n_tokens, longest) phrase keys, see `phrase_keys`."""
    keys = np.zeros((len(ids), longest), np.uint64)
    phrase_keys(ids, offsets, longest, keys)
    return keys


def count_partition(
    text: AlignedText, keys: tuple[Keys, Keys], longest: int, part: int, bits: int, slots: int, minimum: int
) -> Counted | None:
    """The entries of one of 2^bits partitions seen `minimum` times; None where the partition is too large."""
    sources, targets = np.zeros(slots, np.uint64), np.zeros(slots, np.uint64)
    counts = np.zeros(slots, np.int32)
    forwards, backwards = np.empty(slots, np.float32), np.empty(slots, np.float32)
    used = _fill(
        text.source, text.source_offsets, text.target, text.target_offsets, text.link_offsets,
        text.link_source, text.link_target, text.source_weight, text.target_weight, *keys,
        longest, np.uint64(part), np.uint64(64 - bits), sources, targets, counts, forwards, backwards,
    )  # fmt: skip
    if used < 0:
        return None
    kept = np.flatnonzero(counts >= minimum)
    return Counted(sources[kept], targets[kept], counts[kept], forwards[kept], backwards[kept])
