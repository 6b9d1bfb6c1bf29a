"""Distinct integers by sorting, and distinct chunks of texts by one pass over their bytes."""

from collections.abc import Sequence
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct of some integers (n,), in ascending order.

    >>> distinct(np.array([3, 1, 3, 2])).tolist(), distinct(np.empty(0, np.int64)).tolist()
    ([1, 2, 3], [])
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def numbered(codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct of small whole numbers, ascending, and the place (n,) of each among them.

    It takes memory for every value up to the largest: for code points, not for hashes.

    >>> [each.tolist() for each in numbered(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1]]
    """
    there = np.zeros(int(codes.max()) + 1 if len(codes) else 0, np.bool_)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


Longs = NDArray[np.int64]

_ASCII_BLANK: Final = np.array([chr(i).isspace() and i < 128 for i in range(256)])
_WIDE_BLANKS: Final = tuple(chr(i).encode() for i in range(128, 0xD800) if chr(i).isspace())
_WIDE_LEAD: Final = np.isin(np.arange(256), [wide[0] for wide in _WIDE_BLANKS])
_FNV_OFFSET = np.uint64(14695981039346656037)
_FNV_PRIME = np.uint64(1099511628211)


def intern_chunks(texts: Sequence[str]) -> tuple[list[str], Longs, Longs]:
    """Distinct chunks of `str.split` of every text; (n_chunks,) indices into them; (n_texts + 1,) offsets."""
    if not texts:
        return [], np.empty(0, np.int64), np.zeros(1, np.int64)
    text = "\n".join(texts)
    if text.count("\n") != len(texts) - 1:
        text = "\n".join([t.replace("\n", " ") for t in texts])
    data = f"\n{text}\n".encode("utf-8", "surrogatepass")
    buffer = np.frombuffer(data, np.uint8)
    blank = _ASCII_BLANK[buffer]  # whether each byte is one of a white space
    lead = np.flatnonzero(_WIDE_LEAD[buffer])
    lead = lead[lead < len(buffer) - 2]
    for wide in _WIDE_BLANKS:
        at = lead
        for i, byte in enumerate(wide):
            at = at[buffer[at + i] == byte]
        for i in range(len(wide)):
            blank[at + i] = True
    change = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = change[::2], change[1::2]
    offsets = np.searchsorted(starts, np.flatnonzero(buffer == ord("\n")))
    ids, first = _number(buffer, starts, ends)
    slices = zip(starts[first].tolist(), ends[first].tolist(), strict=True)
    chunks = [data[start:end].decode("utf-8", "surrogatepass") for start, end in slices]
    return chunks, ids, offsets


@numba.njit(cache=True, nogil=True)
def _number(data: Any, starts: Any, ends: Any) -> Any:
    size = 1024
    while size < 2 * len(starts):
        size *= 2
    table = np.full(size, -1, np.int32)
    hashes = np.empty(len(starts), np.uint64)
    first = np.empty(len(starts), np.int64)
    ids = np.empty(len(starts), np.int64)
    n = 0
    for k in range(len(starts)):
        key = _FNV_OFFSET
        for i in range(starts[k], ends[k]):
            key = (key ^ data[i]) * _FNV_PRIME
        slot = np.int64(key ^ (key >> np.uint64(32))) & (size - 1)
        while table[slot] >= 0:
            there = table[slot]
            if hashes[there] == key and _equal_bytes(
                data, starts[k], ends[k], starts[first[there]], ends[first[there]]
            ):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot], hashes[n], first[n] = n, key, k
            n += 1
        ids[k] = table[slot]
    return ids, first[:n]


@numba.njit(cache=True, nogil=True)
def _equal_bytes(data: Any, start: int, end: int, other_start: int, other_end: int) -> bool:
    if end - start != other_end - other_start:
        return False
    for i in range(end - start):  # noqa: SIM110
        if data[start + i] != data[other_start + i]:
            return False
    return True


def find(known_keys: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Places of keys among ascending known ones; -1 for absent ones."""
    places = np.full(keys.size, -1, np.int32)
    if len(known_keys):
        _search(np.asarray(known_keys), np.ascontiguousarray(keys).ravel(), places)
    return places.reshape(keys.shape)


@numba.njit(cache=True, nogil=True)
def _search(known_keys: Any, keys: Any, places: Any) -> None:
    half, last = np.uint64(32), len(known_keys) - 1
    step = np.float64(len(known_keys)) / 2.0**64
    for k in range(len(keys)):
        key = keys[k]
        place: Any = np.int64((key >> half) * np.uint64(len(known_keys)) >> half)
        if known_keys[place] < key:
            place = min(place + np.int64(np.float64(key - known_keys[place]) * step), last)
        else:
            place = max(place - np.int64(np.float64(known_keys[place] - key) * step), 0)
        place = _gallop(known_keys, key, place)
        if place <= last and known_keys[place] == key:
            places[k] = place


@numba.njit(cache=True, nogil=True)
def _gallop(known_keys: Any, key: Any, place: int) -> Any:
    low, high, step = place, place, 1
    while low > 0 and known_keys[low - 1] >= key:
        high = low
        low = max(low - step, 0)
        step *= 2
    while high < len(known_keys) and known_keys[high] < key:
        low = high + 1
        high = min(high + step, len(known_keys))
        step *= 2
    while low < high:
        middle = (low + high) >> 1
        if known_keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low
