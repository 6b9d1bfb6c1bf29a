"""Arrays in few bytes that compiled code reads in files mapped into memory.

The type of an array gives the form of storage:

uint64     whole numbers in as few bits as the largest needs: their number, the width, the bits
uint32     whole numbers that never fall: their number, then 9 words for every 32 of them, the first number
           and what each is larger by, in a byte; blocks that rise by more than 255 follow, unpacked
uint16     decimals as places in a list of at most 65,536: the length of the list, the list, the places
uint8      whole numbers, most of them below 255: how many are not, their places, they; a byte for each
any other  the numbers themselves, as parts were stored before
"""

from collections.abc import Sequence
from typing import Any, Final

import numba
import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from features.storage.damage import Damaged

Stored = NDArray[Any]  # an array in one of these forms

_HEAD: Final = 2  # words before the bits
_BLOCK: Final = 32  # numbers of a rising array that share their first
_WORDS: Final = 9  # of a block: the first number, and 32 bytes
_START: Final = 8  # halves of words before a list of decimals
_LARGE: Final = 255  # numbers from here on lie aside
_COUNT: Final = 8  # bytes that tell how many these are
_MAX_LIST: Final = 1 << 16  # decimals of a list


def packed(values: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Whole numbers from 0 on in as few bits as the largest needs."""
    width = max(int(values.max()).bit_length(), 1) if len(values) else 1
    result = np.zeros(_packed_size(len(values), width), np.uint64)
    result[:_HEAD] = len(values), width
    _pack(np.ascontiguousarray(values), width, result)
    return result


def _packed_size(length: int, width: int) -> int:
    return _HEAD + -(-length * width // 64) + 1


@numba.njit(cache=True, nogil=True)
def _pack(values: Any, width: int, result: Any) -> None:
    for i in range(len(values)):
        bit = i * width
        place, shift = 2 + (bit >> 6), np.uint64(bit & 63)
        result[place] |= np.uint64(values[i]) << shift
        if shift + np.uint64(width) > np.uint64(64):
            result[place + 1] |= np.uint64(values[i]) >> (np.uint64(64) - shift)


def stepped(values: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Whole numbers from 0 on that never fall, in little more than a byte each."""
    blocks = -(-len(values) // _BLOCK)
    full = np.full(blocks * _BLOCK, values[-1] if len(values) else 0, np.int64)
    full[: len(values)] = values
    rows = full.reshape(blocks, _BLOCK)
    steps = rows - rows[:, :1]
    wide = np.flatnonzero(steps[:, -1:].ravel() > 255)
    stored = np.zeros((blocks, _WORDS), np.uint32)
    stored[:, 0] = rows[:, 0]
    stored[:, 1:] = np.minimum(steps, 255).astype(np.uint8).view("<u4")
    behind = 1 + blocks * _WORDS + _BLOCK * np.arange(len(wide))
    stored[wide, 0] = behind | 1 << 31
    head = np.array([len(values)], np.uint32)
    return np.concatenate([head, stored.ravel(), rows[wide].ravel().astype(np.uint32)])


def counted(values: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Whole numbers from 0 on, most of them small, in a byte each."""
    places = np.flatnonzero(values >= _LARGE)
    aside = np.array([len(places)], "<i8"), places.astype("<i4"), values[places].astype("<i4")
    small = np.minimum(values, _LARGE).astype(np.uint8)
    return np.concatenate([part.view(np.uint8) for part in (*aside, small)])


def _aside(stored: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
    size = 4 * int(stored[:_COUNT].view("<i8")[0])
    end = _COUNT + 2 * size
    places, large = stored[_COUNT : _COUNT + size].view("<i4"), stored[_COUNT + size : end].view("<i4")
    return stored[end:], places, large


def coded(
    values: NDArray[np.float32], *, relative: bool = False, edges: Sequence[float] = ()
) -> NDArray[np.uint16]:
    """Decimals as indices into a list of values: exact if at most 65,536 differ.

    Else values in spans of the same width (`relative`: of logarithms) share its middle.

    values  (n,) finite if more than 65,536 differ, and from 0 on if `relative`
    edges   a value above an edge stays above it, and one that is not does not rise above it
    """
    distinct = np.unique(values)
    starts = kept = distinct
    if len(distinct) > _MAX_LIST:
        with np.errstate(divide="ignore"):
            scale = np.log(distinct, dtype=np.float64) if relative else distinct.astype(np.float64)
        boundaries = np.searchsorted(distinct, np.sort(np.array(edges, np.float32)), side="right")
        begins = _spans(scale, boundaries)
        ends = np.append(begins[1:], len(scale)) - 1
        middle = (scale[begins] + scale[ends]) / 2
        middle = (np.exp(middle) if relative else middle).astype(np.float32)
        starts, kept = distinct[begins], np.clip(middle, distinct[begins], distinct[ends])
    result = np.empty(_START + 2 * len(kept) + len(values), np.uint16)
    result[:_START] = 0
    result[:2] = np.array([len(kept)], "<u4").view(np.uint16)
    result[_START : _START + 2 * len(kept)] = kept.view(np.uint16)
    _place(np.ascontiguousarray(values), starts, result[_START + 2 * len(kept) :])
    return result


def _spans(ascending: NDArray[np.float64], boundaries: NDArray[np.int64]) -> NDArray[np.int64]:
    low, high = 0.0, float(ascending[-1] - ascending[np.isfinite(ascending).argmax()])
    for _ in range(40):
        middle = (low + high) / 2
        if _begins(ascending, boundaries, middle, np.empty(0, np.int64)) > _MAX_LIST:
            low = middle
        else:
            high = middle
    result = np.empty(_begins(ascending, boundaries, high, np.empty(0, np.int64)), np.int64)
    _begins(ascending, boundaries, high, result)
    return result


@numba.njit(cache=True, nogil=True)
def _begins(ascending: Any, boundaries: Any, width: float, result: Any) -> int:
    spans, start, edge = 0, 0.0, 0
    for i in range(len(ascending)):
        forced = False
        while edge < len(boundaries) and boundaries[edge] <= i:
            forced = forced or boundaries[edge] == i
            edge += 1
        if i == 0 or forced or ascending[i] - start > width:
            start = ascending[i]
            if len(result):
                result[spans] = i
            spans += 1
    return spans


@numba.njit(cache=True, nogil=True)
def _place(values: Any, starts: Any, result: Any) -> None:
    for i in range(len(values)):
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high + 1) >> 1
            if starts[middle] > values[i]:
                high = middle - 1
            else:
                low = middle
        result[i] = low


def readable(stored: Stored) -> Any:
    """The argument of `read_at`: (places, list) for decimals in a list, else the array."""
    if stored.dtype != np.uint16:
        return stored
    size = _START + 2 * _listed(stored)
    return stored[size:], stored[_START:size].view(np.float32)


def _listed(stored: NDArray[np.uint16]) -> int:
    return int(stored[:2].view("<u4")[0])


def length(stored: Stored) -> int:
    if stored.dtype == np.uint16:
        return len(stored) - _START - 2 * _listed(stored)
    if stored.dtype == np.uint8:
        return len(_aside(stored)[0])
    return int(stored[0]) if stored.dtype in (np.uint64, np.uint32) else len(stored)


def read_at(stored: Any, i: int) -> Any:
    """The number at place i, in compiled code; `stored` comes from `readable`."""
    raise NotImplementedError


@overload(read_at, inline="never", jit_options={"nogil": True, "_nrt": False})
def _read_at(stored: Any, i: Any) -> Any:
    if isinstance(stored, types.BaseTuple):
        return _listed_at
    if stored.dtype == types.uint64:
        return _bits_at
    if stored.dtype == types.uint32:
        return _rising_at
    return _plain_at


def _plain_at(stored: Any, i: Any) -> Any:
    return stored[i]


def _listed_at(stored: Any, i: Any) -> Any:
    return stored[1][stored[0][i]]


def _bits_at(stored: Any, i: Any) -> Any:
    width = stored[1]
    bit = np.uint64(i) * width
    place, shift = np.int64(bit >> np.uint64(6)) + 2, bit & np.uint64(63)
    low, high = stored[place] >> shift, (stored[place + 1] << np.uint64(1)) << (np.uint64(63) - shift)
    return np.int64((low | high) & ((np.uint64(1) << width) - np.uint64(1)))


def _rising_at(stored: Any, i: Any) -> Any:
    block = 1 + (i >> 5) * 9
    first, place = np.int64(stored[block]), i & 31
    if first >= 1 << 31:
        return np.int64(stored[first - (1 << 31) + place])
    return first + ((np.int64(stored[block + 1 + (place >> 2)]) >> (8 * (place & 3))) & 255)


def gather(stored: Stored, places: NDArray[np.integer[Any]]) -> NDArray[Any]:
    if stored.dtype == np.uint16:
        codes, values = readable(stored)
        return np.asarray(values[codes[places]])
    if stored.dtype == np.uint8:
        small, wide, large = _aside(stored)
        counts: NDArray[Any] = small[places].astype(np.int32)
        aside = counts == _LARGE
        counts[aside] = large[np.searchsorted(wide, places[aside])]
        return counts
    if stored.dtype not in (np.uint64, np.uint32):
        return np.asarray(stored[places])
    result = np.empty(len(places), np.int32)
    _take(stored, places, result)
    return result


@numba.njit(cache=True, nogil=True)
def _take(stored: Any, places: Any, result: Any) -> None:
    for i in range(len(places)):
        result[i] = read_at(stored, places[i])


def unpacked(stored: Stored, start: int = 0, stop: int | None = None) -> NDArray[Any]:
    stop = length(stored) if stop is None else stop
    if stored.dtype == np.uint16:
        codes, values = readable(stored)
        return np.asarray(values[codes[start:stop]])
    if stored.dtype == np.uint8:
        small, wide, large = _aside(stored)
        result: NDArray[Any] = small[start:stop].astype(np.int32)
        begin, end = np.searchsorted(wide, (start, stop))
        result[wide[begin:end] - start] = large[begin:end]
        return result
    if stored.dtype not in (np.uint64, np.uint32):
        return np.asarray(stored[start:stop])
    result = np.empty(max(stop - start, 0), np.int32)
    _unpack(stored, start, result)
    return result


@numba.njit(cache=True, nogil=True)
def _unpack(stored: Any, start: int, result: Any) -> None:
    for i in range(len(result)):
        result[i] = read_at(stored, start + i)


def decoded(stored: Stored) -> NDArray[np.float32]:
    return np.asarray(unpacked(stored), np.float32)


def listed(stored: Stored) -> NDArray[Any]:
    """The distinct values of decimals in a list, else the numbers."""
    return np.asarray(readable(stored)[1]) if stored.dtype == np.uint16 else stored


def check(name: str, stored: Stored, dtype: Any, size: int | None) -> None:
    """Raises Damaged unless `size` numbers (None: any) are stored, in `dtype` or in fewer bytes."""
    kinds = (np.uint16,) if np.dtype(dtype).kind == "f" else (np.uint64, np.uint32, np.uint8)
    if stored.ndim != 1 or stored.dtype not in (np.dtype(dtype), *kinds) or not stored.dtype.isnative:
        raise Damaged(f"`{name}` must hold {np.dtype(dtype)} in a row, but is {stored.dtype} {stored.shape}")
    held, sound = 0, False
    if stored.dtype == np.dtype(dtype):
        held, sound = len(stored), True
    elif stored.dtype == np.uint16:
        if len(stored) >= _START and length(stored) >= 0 and _listed(stored) <= _MAX_LIST:
            codes, values = readable(stored)
            held, sound = len(codes), not len(codes) or int(codes.max()) < len(values)
    elif stored.dtype == np.uint8:
        if len(stored) >= _COUNT and 0 <= 8 * int(stored[:_COUNT].view("<i8")[0]) <= len(stored) - _COUNT:
            small, places, _ = _aside(stored)
            held, sound = len(small), bool(np.array_equal(places, np.flatnonzero(small == _LARGE)))
    elif stored.dtype == np.uint64:
        if len(stored) >= _HEAD:
            held, width = int(stored[0]), int(stored[1])
            sound = 1 <= width <= 31 and len(stored) == _packed_size(held, width)
    elif len(stored):
        held = int(stored[0])
        behind = 1 + -(-held // _BLOCK) * _WORDS
        if len(stored) >= behind:
            first = stored[1:behind:_WORDS].astype(np.int64)
            wide = first[first >= 1 << 31] - (1 << 31)
            sound = bool(((wide >= behind) & (wide + _BLOCK <= len(stored))).all())
    if not sound:
        raise Damaged(f"`{name}` points outside of what it holds")
    if size is not None and held != size:
        raise Damaged(f"`{name}` must hold {size} numbers, but holds {held}")
