"""Keys of tokens and gaps for target encodings: 64-bit hashes of words and pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from features.core.segments import Segments
from features.text.tokens import Tokens
from features.word_level.columns import Longs
from features.word_level.links import TokenLinks

Keys = NDArray[np.uint64]
Number = TypeVar("Number", bound=np.number[Any])

NOTHING = np.uint64(0x9E3779B97F4A7C15)  # beyond the text, or unaligned
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
_SUFFIX = 3  # letters


@dataclass(frozen=True, eq=False)
class WordClasses:
    source: NDArray[np.int32]
    target: NDArray[np.int32]


def word_keys(segments: Segments, links: TokenLinks, classes: WordClasses) -> dict[str, Keys]:
    target, source = segments.target_tokens, segments.source_tokens
    word, suffix, original = hashes(target), hashes(target, _SUFFIX), hashes(source)
    aligned = key_at(original, links.best)
    after_aligned = key_at(neighbour_keys(original, source.offsets, 1), links.best)
    before_aligned = key_at(neighbour_keys(original, source.offsets, -1), links.best)
    kind, source_kind = classes.target.astype(np.uint64), key_at(classes.source.astype(np.uint64), links.best)
    kind_before, kind_after = (
        neighbour_keys(kind, target.offsets, -1),
        neighbour_keys(kind, target.offsets, 1),
    )
    return {
        "word": word,
        "source": aligned,
        **neighbours(word, suffix, aligned, target.offsets),
        "source_before": paired(before_aligned, aligned),
        "source_after": paired(aligned, after_aligned),
        "word_source_before": paired(word, before_aligned),
        "word_source_after": paired(word, after_aligned),
        "class": kind,
        "source_class": source_kind,
        "class_pair": paired(kind, source_kind),
        "class_before": paired(kind_before, kind),
        "class_after": paired(kind, kind_after),
        "class_around": paired(paired(kind_before, kind), kind_after),
    }


def triple_keys(keys: Mapping[str, Keys], offsets: Longs) -> dict[str, Keys]:
    return {
        "around": paired(keys["bigram"], keys["after"]),
        "two_before": paired(neighbour_keys(keys["before"], offsets, -1), keys["bigram"]),
        "two_after": paired(keys["bigram_next"], neighbour_keys(keys["after"], offsets, 1)),
        "pair_before": paired(keys["pair"], keys["before"]),
        "pair_after": paired(keys["pair"], keys["after"]),
        "word_source_around": paired(keys["word"], paired(keys["source_before"], keys["source_after"])),
    }


def neighbours(word: Keys, suffix: Keys, aligned: Keys, offsets: Longs) -> dict[str, Keys]:
    before, after = neighbour_keys(word, offsets, -1), neighbour_keys(word, offsets, 1)
    return {
        "pair": paired(word, aligned),
        "before": before,
        "after": after,
        "bigram": paired(before, word),
        "bigram_next": paired(word, after),
        "suffixes": paired(suffix, neighbour_keys(suffix, offsets, 1)),
    }


def gap_keys(segments: Segments, classes: WordClasses) -> dict[str, Keys]:
    offsets = segments.target_tokens.offsets
    left_values, right = gap_sides(hashes(segments.target_tokens), offsets, NOTHING)
    left_kind, right_kind = gap_sides(classes.target.astype(np.uint64), offsets, NOTHING)
    return {
        "left": left_values,
        "right": right,
        "both": paired(left_values, right),
        "classes": paired(left_kind, right_kind),
        "left_class": paired(left_kind, right),
        "right_class": paired(left_values, right_kind),
    }


def gap_sides(
    values: NDArray[Number], offsets: Longs, missing: object
) -> tuple[NDArray[Number], NDArray[Number]]:
    """(n_gaps,) the values of the tokens before and after every gap; `missing` beyond the text.

    >>> left, right = gap_sides(np.array([1, 2]), np.array([0, 2, 2]), 0)
    >>> left.tolist(), right.tolist()
    ([0, 1, 2, 0], [1, 2, 0, 0])
    """
    n = len(offsets) - 1
    size = len(values) + n
    left_values, right = np.full(size, missing, values.dtype), np.full(size, missing, values.dtype)
    place = np.arange(len(values)) + np.repeat(np.arange(n), np.diff(offsets))
    right[place] = values
    left_values[place + 1] = values
    return left_values, right


def paired(left_values: Keys, right: Keys) -> Keys:
    with np.errstate(over="ignore"):
        mixed = (left_values ^ (left_values >> np.uint64(31))) * _MULTIPLIER + right
    return np.asarray(mixed ^ (mixed >> np.uint64(29)), np.uint64)


def hashes(tokens: Tokens, suffix: int = 0) -> Keys:
    """(n_tokens,) hashes of the lower-cased words, or of their last letters."""
    lowered = tokens.lower()
    by_type = [_hash(word[-suffix:] if suffix else word) for word in lowered.types]
    return np.array(by_type, np.uint64)[lowered.ids] if by_type else np.empty(0, np.uint64)


@lru_cache(1 << 17)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def key_at(values: Keys, index: Longs) -> Keys:
    """(k,) the values at `index`; `NOTHING` for -1."""
    result = np.full(len(index), NOTHING, np.uint64)
    result[index >= 0] = values[index[index >= 0]]
    return result


def neighbour_keys(values: Keys, offsets: Longs, offset: int) -> Keys:
    """(n_tokens,) the values of the token before (`offset` -1) or after; `NOTHING` beyond the text."""
    left_values, right = gap_sides(values, offsets, NOTHING)
    place = np.arange(len(values)) + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.asarray(left_values[place] if offset < 0 else right[place + 1], np.uint64)


def places(sorted_keys: Keys, wanted: Keys) -> tuple[Longs, NDArray[np.bool_]]:
    """(n,) places of the wanted keys among the known, which ascend; whether they are there. The place is 0 if
    a key is not there.

    >>> [part.tolist() for part in places(np.array([3, 7], np.uint64), np.array([7, 5, 3], np.uint64))]
    [[1, 0, 0], [True, False, True]]
    """
    positions = np.full(len(wanted), -1, np.int64)
    if len(sorted_keys):
        _find(np.asarray(sorted_keys), np.asarray(wanted), positions)
    return np.maximum(positions, 0), positions >= 0


@numba.njit(cache=True, nogil=True)
def _find(sorted_keys: Any, wanted: Any, positions: Any) -> None:
    last = len(sorted_keys) - 1
    each = len(sorted_keys) / 2.0**64
    for i in range(len(wanted)):
        key = wanted[i]
        guess = min(int(np.float64(key) * each), last)
        nearer = guess + (np.float64(key) - np.float64(sorted_keys[guess])) * each
        guess = int(min(max(nearer, 0.0), last + 0.0))
        step = 1
        if sorted_keys[guess] < key:
            low = guess + 1
            while low + step <= last and sorted_keys[low + step] < key:
                low += step + 1
                step *= 2
            high = min(low + step, last + 1)
        else:
            high = guess
            while high - step >= 0 and sorted_keys[high - step] >= key:
                high -= step
                step *= 2
            low = max(high - step, 0)
        while low < high:
            middle = (low + high) // 2
            if sorted_keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low <= last and sorted_keys[low] == key:
            positions[i] = low
