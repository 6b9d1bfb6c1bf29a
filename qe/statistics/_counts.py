"""Bootstrap counts: how often each of n rows is drawn in n draws.

One random word serves two rows.

Counts of a bootstrap sample are multinomial. Independent Poisson counts with a mean just below 1, topped up
to n by single draws (or, rarely, with surplus draws taken away), have the same distribution: given their sum,
Poisson counts are multinomial. They come from comparisons with a few thresholds, which compilers vectorise;
single draws hit the memory at random.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from qe.statistics.draws import below, word

FEWEST = 64  # rows below which draws are made one by one
CAP = 7  # counts up to here have a code of three bits
_CUTS = 24
_SPREAD = 3.0  # standard deviations that the Poisson sum stays below n
_HALF = np.uint64(0xFFFFFFFF)


def thresholds(rows: int) -> NDArray[np.uint64]:
    """(24,) a row is drawn more than k times if its 32 random bits are at least thresholds[k]."""
    mean = 1.0 - _SPREAD / np.sqrt(rows)
    below_or_at = stats.poisson.cdf(np.arange(_CUTS), mean)
    return np.asarray(np.minimum(np.round(below_or_at * 2.0**32), 2.0**32).astype(np.uint64))


@numba.njit(cache=True, nogil=True)
def draw_singly(key: Any, size: int, counts: Any) -> None:
    """Adds `size` draws with replacement to the counts."""
    for i in range(size):
        counts[below(word(key, i), len(counts))] += 1


@numba.njit(cache=True, nogil=True)
def _drawn(uniform: Any, cuts: Any) -> Any:
    drawn = np.int64(0)
    for k in range(CAP + 1):
        drawn += np.int64(uniform >= cuts[k])
    if drawn > CAP:
        while drawn < len(cuts) and uniform >= cuts[drawn]:
            drawn += 1
    return drawn


@numba.njit(cache=True, nogil=True)
def draw_counts(key: Any, cuts: Any, counts: Any) -> None:
    """Fills counts (n,) with a bootstrap sample."""
    rows, total = len(counts), 0
    for pair in range((rows + 1) // 2):
        bits = word(key, pair)
        counts[2 * pair] = _drawn(bits & _HALF, cuts)
        total += counts[2 * pair]
        if 2 * pair + 1 < rows:
            counts[2 * pair + 1] = _drawn(bits >> np.uint64(32), cuts)
            total += counts[2 * pair + 1]
    for i in range(abs(rows - total)):
        bits = word(key, rows + i)
        if total < rows:
            counts[below(bits, rows)] += 1
        else:
            counts[_place(counts, below(bits, total - i))] -= 1


@numba.njit(cache=True, nogil=True)
def _place(counts: Any, number: int) -> int:
    for row in range(len(counts)):
        number -= counts[row]
        if number < 0:
            return row
    return len(counts) - 1


@numba.njit(cache=True, nogil=True)
def draw_codes(keys: Any, rows: int, cuts: Any, codes: Any, totals: Any, surplus: Any) -> int:
    """The Poisson counts of many samples as codes of three bits a row.

    Two rows take a byte, 16 rows a word.

    codes    (groups of 16 rows, samples), 0 before
    totals   (samples,) sums of the counts
    surplus  (room, 3) sample, row and what its count has beyond the code's 7; returns how many there are,
             at most one more than there is room for
    """
    c0, c1, c2, c3, c4, c5, c6, c7 = cuts[0], cuts[1], cuts[2], cuts[3], cuts[4], cuts[5], cuts[6], cuts[7]
    noted = 0
    for pair in range((rows + 1) // 2):
        group, shift = codes[pair // 8], np.uint64(8 * (pair % 8))
        second = np.uint64(2 * pair + 1 < rows)
        beyond = np.uint64(0)
        for s in range(len(keys)):
            bits = word(keys[s], pair)
            u, v = bits & _HALF, bits >> np.uint64(32)
            a = np.uint64(u >= c0) + np.uint64(u >= c1) + np.uint64(u >= c2) + np.uint64(u >= c3)
            a += np.uint64(u >= c4) + np.uint64(u >= c5) + np.uint64(u >= c6)
            b = np.uint64(v >= c0) + np.uint64(v >= c1) + np.uint64(v >= c2) + np.uint64(v >= c3)
            b = (b + np.uint64(v >= c4) + np.uint64(v >= c5) + np.uint64(v >= c6)) * second
            group[s] |= (a | (b << np.uint64(3))) << shift
            totals[s] += np.int64(a + b)
            beyond |= np.uint64(u >= c7) | (np.uint64(v >= c7) * second)
        if beyond:
            noted = _note_surplus(keys, pair, rows, cuts, totals, surplus, noted)
    return noted


@numba.njit(cache=True, nogil=True)
def _note_surplus(keys: Any, pair: int, rows: int, cuts: Any, totals: Any, surplus: Any, noted: int) -> int:
    for s in range(len(keys)):
        bits = word(keys[s], pair)
        for half in range(2):
            uniform = (bits >> np.uint64(32 * half)) & _HALF
            if 2 * pair + half < rows and uniform >= cuts[CAP]:
                if noted >= len(surplus):
                    return len(surplus) + 1
                more = _drawn(uniform, cuts) - CAP
                surplus[noted, 0], surplus[noted, 1], surplus[noted, 2] = s, 2 * pair + half, more
                totals[s] += more
                noted += 1
    return noted
