"""Sums of statistics over resamples: the kernels under every test.

Each sample is added up in the order of the segments, so that a block or thread never changes a digit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from qe.significance._draws import below, stream, word

FloatArray = NDArray[np.float64]
CountArray = NDArray[np.int32]

Kernel = Callable[[int, int, FloatArray], None]


def in_blocks(kernel: Kernel, samples: int, columns: int, block: int, threads: int) -> FloatArray:
    """Fills (samples, columns) by `kernel(first, last, out[first:last])`, blocks of samples in threads."""
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
    differences: FloatArray, samples: int, seed: int, *, block: int = 10_000, threads: int = 1
) -> FloatArray:
    """(samples, k): the sum of the rows of (n, k) `differences` whose coin fell heads, per shuffle."""
    rows = np.ascontiguousarray(differences, np.float64)
    return in_blocks(
        lambda first, last, out: _coin_sums(rows, seed, first, out), samples, rows.shape[1], block, threads
    )


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
    block: int = 250,
    threads: int = 1,
) -> FloatArray:
    """(samples, k): sums over `size` rows (default n) drawn with replacement from (n, k) `statistics`."""
    rows = np.ascontiguousarray(statistics, np.float64)
    return in_blocks(
        lambda first, last, out: _bootstrap_sums(rows, size or len(rows), seed, first, out),
        samples, rows.shape[1], block, threads,
    )  # fmt: skip


def dealt_sums(
    statistics: FloatArray, samples: int, seed: int, *, block: int = 1000, threads: int = 1
) -> FloatArray:
    """(samples, m, k): per shuffle, sums of m pseudo-systems after dealing the rows of (n, m, k)."""
    rows = np.ascontiguousarray(statistics, np.float64)
    systems, columns = rows.shape[1:]
    flat = in_blocks(
        lambda first, last, out: _dealt_sums(rows, seed, first, out.reshape(len(out), systems, columns)),
        samples, systems * columns, block, threads,
    )  # fmt: skip
    return flat.reshape(samples, systems, columns)


def deals(units: int, systems: int, seed: int, first: int, last: int) -> NDArray[np.int64]:
    """(last - first, units, systems): which system each pseudo-system gets per unit; as dealt_sums."""
    dealt = np.empty((last - first, units, systems), np.int64)
    _deals(seed, first, dealt)
    return dealt


def bootstrap_counts(rows: int, seed: int, first: int, last: int) -> CountArray:
    """(last - first, rows): how often each row is drawn in samples first .. last - 1; as bootstrap_sums."""
    counts = np.zeros((last - first, rows), np.int32)
    _bootstrap_counts(rows, seed, first, counts)
    return counts


def coin_faces(units: int, seed: int, first: int, last: int) -> NDArray[np.bool_]:
    """(last - first, units): which coins fall heads in samples first .. last - 1; as coin_sums."""
    faces = np.zeros((last - first, units), np.bool_)
    _coin_faces(seed, first, faces)
    return faces


def every_choice(choices: FloatArray) -> FloatArray:
    """(c ** n, k): the sums of all ways to take one of the c alternatives in each row of (n, c, k)."""
    sums = np.zeros((1, choices.shape[2]))
    for alternatives in choices:
        sums = (sums[:, None, :] + alternatives[None, :, :]).reshape(-1, choices.shape[2])
    return sums


@numba.njit(cache=True, nogil=True)
def _fill_table(differences: Any, start: int, bits: int, table: Any) -> None:
    """Row v of the table: the sum of the differences whose bit is set in v, for up to 8 rows from `start`."""
    table[0, :] = 0.0
    for bit in range(bits):
        for v in range(1 << bit):
            for c in range(table.shape[1]):
                table[(1 << bit) + v, c] = table[v, c] + differences[start + bit, c]


@numba.njit(cache=True, nogil=True)
def _coin_sums(differences: Any, seed: int, first: int, out: Any) -> None:
    """64 coins per draw; 8 coins per table look-up instead of 8 additions."""
    n, k = differences.shape
    samples = len(out)
    table = np.empty((256, k))
    words = np.empty(samples, np.uint64)
    keys = np.empty(samples, np.uint64)
    for s in range(samples):
        keys[s] = stream(seed, first + s)
    for start in range(0, n, 8):
        if start % 64 == 0:
            for s in range(samples):
                words[s] = word(keys[s], start // 64)
        bits = min(8, n - start)
        _fill_table(differences, start, bits, table)
        shift, mask = np.uint64(start % 64), np.uint64((1 << bits) - 1)
        for s in range(samples):
            face = (words[s] >> shift) & mask
            for c in range(k):
                out[s, c] += table[face, c]


@numba.njit(cache=True, nogil=True)
def _coin_faces(seed: int, first: int, faces: Any) -> None:
    for s in range(len(faces)):
        key = stream(seed, first + s)
        for i in range(faces.shape[1]):
            faces[s, i] = (word(key, i // 64) >> np.uint64(i % 64)) & np.uint64(1) == np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _part_sums(pool: Any, take: int, seed: int, first: int, out: Any) -> None:
    """Selection sampling: hypothesis j is taken with probability (still needed) / (still left)."""
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
    """A random permutation of the systems (Fisher and Yates)."""
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
def _bootstrap_counts(size: int, seed: int, first: int, counts: Any) -> None:
    n = counts.shape[1]
    for s in range(len(counts)):
        key = stream(seed, first + s)
        for i in range(size):
            counts[s, below(word(key, i), n)] += 1


@numba.njit(cache=True, nogil=True)
def _bootstrap_sums(statistics: Any, size: int, seed: int, first: int, out: Any) -> None:
    n, k = statistics.shape
    counts = np.empty((1, n), np.int32)
    for s in range(len(out)):
        counts[0, :] = 0
        _bootstrap_counts(size, seed, first + s, counts)
        for i in range(n):
            drawn = counts[0, i]
            if drawn > 0:
                for c in range(k):
                    out[s, c] += drawn * statistics[i, c]
