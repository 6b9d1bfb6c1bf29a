"""Sums of statistics over resamples: the kernels under every test.

Each sample is added up in an order that depends on the segments alone, so that a block or thread never
changes a digit, nor do other columns.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray
from qe.statistics._counts import CAP, FEWEST, draw_codes, draw_counts, draw_singly, thresholds
from qe.statistics._lookups import WIDTH, add_by_bytes, add_by_nibbles
from qe.statistics.draws import below, stream, word

CountArray = NDArray[np.int32]

_CODE_BYTES = 1 << 26  # bound of the codes of one block

Kernel = Callable[[int, int, FloatArray], None]


def in_blocks(kernel: Kernel, samples: int, columns: int, block: int, threads: int) -> FloatArray:
    """Fills (samples, columns) by blocks of samples in threads.

    A call is `kernel(first, last, out[first:last])`.
    """
    out = np.zeros((samples, columns))
    ranges = [(first, min(first + block, samples)) for first in range(0, samples, block)]

    def fill(bounds: tuple[int, int]) -> None:
        kernel(*bounds, out[bounds[0] : bounds[1]])

    if threads == 1:
        for bounds in ranges:
            fill(bounds)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, ranges))
    return out


def coin_sums(
    differences: FloatArray, samples: int, seed: int, *, block: int = 1000, threads: int = 1
) -> FloatArray:
    """(samples, k): per shuffle, the sum of rows of `differences` whose coin fell heads.

    `differences` is (n, k).
    """
    rows = _padded(differences, 64)
    sums = in_blocks(
        lambda first, last, out: _coin_sums(rows, seed, first, out), samples, rows.shape[1], block, threads
    )
    return sums[:, : differences.shape[1]]


def _padded(rows: FloatArray, multiple: int) -> FloatArray:
    n, k = rows.shape
    padded = np.zeros((-(-n // multiple) * multiple, -(-k // WIDTH) * WIDTH))
    padded[:n, :k] = rows
    return padded


def part_sums(
    pool: FloatArray, take: int, samples: int, seed: int, *, block: int = 1000, threads: int = 1
) -> FloatArray:
    """(samples, k): per shuffle, the sum of `take` of the h hypotheses per segment of (n, h, k)."""
    rows = np.ascontiguousarray(pool, np.float64)
    return in_blocks(
        lambda first, last, out: _part_sums(rows, take, seed, first, out),
        samples, rows.shape[2], block, threads,
    )  # fmt: skip


def bootstrap_sums(
    statistics: FloatArray,
    samples: int,
    seed: int,
    *,
    size: int | None = None,
    block: int = 1000,
    threads: int = 1,
) -> FloatArray:
    """(samples, k): sums over `size` rows drawn with replacement from `statistics`.

    `statistics` is (n, k); `size` is n by default.
    """
    n, k = statistics.shape
    if n < FEWEST or size not in (None, n):
        rows = np.ascontiguousarray(statistics, np.float64)
        return in_blocks(
            lambda first, last, out: _sums_of_single_draws(rows, size or n, seed, first, out),
            samples, k, block, threads,
        )  # fmt: skip
    rows, cuts = _padded(statistics, 16), thresholds(n)
    block = max(1, min(block, _CODE_BYTES // (n // 2)))
    sums = in_blocks(
        lambda first, last, out: _bootstrap_sums(rows, n, cuts, seed, first, out),
        samples, rows.shape[1], block, threads,
    )  # fmt: skip
    return sums[:, :k]


def dealt_sums(
    statistics: FloatArray, samples: int, seed: int, *, block: int = 1000, threads: int = 1
) -> FloatArray:
    """(samples, m, k): per shuffle, sums of m pseudo-systems.

    The rows of (n, m, k) are dealt to them.
    """
    rows = np.ascontiguousarray(statistics, np.float64)
    systems, columns = rows.shape[1:]
    flat = in_blocks(
        lambda first, last, out: _dealt_sums(rows, seed, first, out.reshape(len(out), systems, columns)),
        samples, systems * columns, block, threads,
    )  # fmt: skip
    return flat.reshape(samples, systems, columns)


def deals(units: int, systems: int, seed: int, first: int, last: int) -> NDArray[np.int64]:
    """(last - first, units, systems): the system each pseudo-system gets per unit.

    Draws are as in `dealt_sums`.
    """
    dealt = np.empty((last - first, units, systems), np.int64)
    _deals(seed, first, dealt)
    return dealt


def bootstrap_counts(rows: int, seed: int, first: int, last: int) -> CountArray:
    """(last - first, rows): how often each row is drawn in samples first .. last - 1.

    Draws are as in `bootstrap_sums`.
    """
    counts = np.zeros((last - first, rows), np.int32)
    _bootstrap_counts(thresholds(max(rows, FEWEST)), seed, first, counts)
    return counts


def coin_rows(units: int, seed: int, first: int, last: int) -> NDArray[np.bool_]:
    """(units, last - first): which coins fall heads in samples first .. last - 1; as coin_sums."""
    heads = np.empty((units, last - first), np.bool_)
    _coin_rows(seed, first, heads)
    return heads


def every_choice(choices: FloatArray) -> FloatArray:
    """(c ** n, k): the sums of all ways to take one alternative in each row.

    The alternatives are (n, c, k).
    """
    sums = np.zeros((1, choices.shape[2]))
    for alternatives in choices:
        sums = (sums[:, None, :] + alternatives[None, :, :]).reshape(-1, choices.shape[2])
    return sums


@numba.njit(cache=True, nogil=True)
def _streams(seed: int, first: int, samples: int) -> Any:
    keys = np.empty(samples, np.uint64)
    for s in range(samples):
        keys[s] = stream(seed, first + s)
    return keys


@numba.njit(cache=True, nogil=True)
def _coin_tables(rows: Any, start: int, column: int, tables: Any) -> None:
    for t in range(16):
        for c in range(WIDTH):
            tables[16 * t, c] = 0.0
        for bit in range(4):
            for v in range(1 << bit):
                for c in range(WIDTH):
                    tables[16 * t + (1 << bit) + v, c] = (
                        tables[16 * t + v, c] + rows[start + 4 * t + bit, column + c]
                    )


@numba.njit(cache=True, nogil=True)
def _coin_sums(rows: Any, seed: int, first: int, out: Any) -> None:
    keys = _streams(seed, first, len(out))
    words, tables = np.empty(len(out), np.uint64), np.empty((256, WIDTH))
    at, stride = np.uint64(out.ctypes.data), np.uint64(8 * out.shape[1])
    for start in range(0, len(rows), 64):
        for s in range(len(out)):
            words[s] = word(keys[s], start // 64)
        for column in range(0, out.shape[1], WIDTH):
            _coin_tables(rows, start, column, tables)
            table, place = np.uint64(tables.ctypes.data), at + np.uint64(8 * column)
            for s in range(len(out)):
                add_by_nibbles(place + np.uint64(s) * stride, table, words[s])


@numba.njit(cache=True, nogil=True)
def _coin_rows(seed: int, first: int, heads: Any) -> None:
    units, samples = heads.shape
    words = np.empty(samples, np.uint64)
    for i in range(units):
        if i % 64 == 0:
            for s in range(samples):
                words[s] = word(stream(seed, first + s), i // 64)
        shift = np.uint64(i % 64)
        for s in range(samples):
            heads[i, s] = (words[s] >> shift) & np.uint64(1) == np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _part_sums(pool: Any, take: int, seed: int, first: int, out: Any) -> None:
    n, hypotheses, k = pool.shape
    for s in range(len(out)):
        key = stream(seed, first + s)
        for i in range(n):
            needed = take
            for j in range(hypotheses):
                if needed == 0:
                    break
                if below(word(key, i * hypotheses + j), hypotheses - j) < needed:
                    needed -= 1
                    for c in range(k):
                        out[s, c] += pool[i, j, c]


@numba.njit(cache=True, nogil=True)
def _deal(key: Any, unit: int, hand: Any) -> None:
    systems = len(hand)
    for j in range(systems):
        hand[j] = j
    for j in range(systems - 1, 0, -1):
        other = below(word(key, unit * systems + j), j + 1)
        hand[j], hand[other] = hand[other], hand[j]


@numba.njit(cache=True, nogil=True)
def _deals(seed: int, first: int, dealt: Any) -> None:
    for s in range(len(dealt)):
        key = stream(seed, first + s)
        for i in range(dealt.shape[1]):
            _deal(key, i, dealt[s, i])


@numba.njit(cache=True, nogil=True)
def _dealt_sums(statistics: Any, seed: int, first: int, out: Any) -> None:
    n, systems, k = statistics.shape
    hand = np.empty(systems, np.int64)
    for s in range(len(out)):
        key = stream(seed, first + s)
        for i in range(n):
            _deal(key, i, hand)
            for j in range(systems):
                for c in range(k):
                    out[s, j, c] += statistics[i, hand[j], c]


@numba.njit(cache=True, nogil=True)
def _bootstrap_counts(cuts: Any, seed: int, first: int, counts: Any) -> None:
    for s in range(len(counts)):
        key = stream(seed, first + s)
        if counts.shape[1] < FEWEST:
            draw_singly(key, counts.shape[1], counts[s])
        else:
            draw_counts(key, cuts, counts[s])


@numba.njit(cache=True, nogil=True)
def _sums_of_single_draws(rows: Any, size: int, seed: int, first: int, out: Any) -> None:
    counts = np.empty(len(rows), np.int32)
    for s in range(len(out)):
        counts[:] = 0
        draw_singly(stream(seed, first + s), size, counts)
        _add_counted(rows, counts, out[s])


@numba.njit(cache=True, nogil=True)
def _add_counted(rows: Any, counts: Any, out: Any) -> None:
    for i in range(len(counts)):
        if counts[i] > 0:
            for c in range(len(out)):
                out[c] += counts[i] * rows[i, c]


@numba.njit(cache=True, nogil=True)
def _count_tables(rows: Any, start: int, column: int, tables: Any) -> None:
    for t in range(8):
        for a in range(CAP + 1):
            for b in range(CAP + 1):
                for c in range(WIDTH):
                    tables[64 * t + 8 * b + a, c] = (
                        a * rows[start + 2 * t, column + c] + b * rows[start + 2 * t + 1, column + c]
                    )


@numba.njit(cache=True, nogil=True)
def _bootstrap_sums(rows: Any, n: int, cuts: Any, seed: int, first: int, out: Any) -> None:
    samples, columns = out.shape
    keys, codes = _streams(seed, first, samples), np.zeros((len(rows) // 16, samples), np.uint64)
    totals = np.zeros(samples, np.int64)
    surplus = np.empty((1000 + n * samples // 10_000, 3), np.int64)
    noted = draw_codes(keys, n, cuts, codes, totals, surplus)
    tables = np.empty((512, WIDTH))
    at, stride = np.uint64(out.ctypes.data), np.uint64(8 * columns)
    for group in range(len(codes)):
        for column in range(0, columns, WIDTH):
            _count_tables(rows, 16 * group, column, tables)
            table, place = np.uint64(tables.ctypes.data), at + np.uint64(8 * column)
            for s in range(samples):
                add_by_bytes(place + np.uint64(s) * stride, table, codes[group, s])
    for i in range(min(noted, len(surplus))):
        s, row, more = surplus[i]
        for c in range(columns):
            out[s, c] += more * rows[row, c]
    counts = np.empty(n, np.int64)
    for s in range(samples):
        if noted > len(surplus) or totals[s] > n:
            out[s, :] = 0.0
            draw_counts(keys[s], cuts, counts)
            _add_counted(rows, counts, out[s])
            continue
        for i in range(n - totals[s]):
            row = rows[below(word(keys[s], n + i), n)]
            for c in range(columns):
                out[s, c] += row[c]
