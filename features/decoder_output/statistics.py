"""Order statistics of each text's token values: quantiles, windows, runs, trend.

Every function takes (n_tokens,) values and (n + 1,) offsets and gives (n,) numbers, NaN for an empty text,
independent of the rest of the batch.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from features.basics.array_types import FloatArray, row_index
from features.text.tokens import ratio, segment_mean, segment_sum

Longs = NDArray[np.int64]


def deviation(values: FloatArray, offsets: Longs) -> FloatArray:
    """Standard deviation over the tokens (of the population, not the sample)."""
    centred = values - np.repeat(segment_mean(values, offsets), np.diff(offsets))
    return np.sqrt(segment_mean(centred**2, offsets))


def ascending(values: FloatArray, offsets: Longs) -> FloatArray:
    text = row_index(offsets)
    return np.asarray(values[np.lexsort((values, text))])


def quantile(rising: FloatArray, offsets: Longs, level: float) -> FloatArray:
    """Quantile of values sorted by `ascending`, as by `np.quantile`: linear between neighbours."""
    lengths = np.diff(offsets)
    full = lengths > 0
    place = level * (lengths[full] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, lengths[full] - 1)
    at_low, at_high = rising[offsets[:-1][full] + low], rising[offsets[:-1][full] + high]
    result = np.full(len(lengths), np.nan)
    result[full] = at_low + (place - low) * (at_high - at_low)
    return result


def lowest_mean(rising: FloatArray, offsets: Longs, count: int | Longs) -> FloatArray:
    """Mean of the `count` lowest values (of each text, if there are n counts), of all if there are fewer."""
    lengths = np.diff(offsets)
    counts = np.broadcast_to(count, lengths.shape)
    place = np.arange(len(rising)) - np.repeat(offsets[:-1], lengths)
    taken = np.where(place < np.repeat(counts, lengths), rising, 0.0)
    return ratio(segment_sum(taken, offsets), np.minimum(lengths, counts))


def trend(values: FloatArray, offsets: Longs) -> FloatArray:
    """Slope of the least-squares line through the values; places run from 0 to 1. 0 for a single value.

    >>> trend(np.array([1.0, 2.0, 3.0, 7.0]), np.array([0, 3, 4]))
    array([2., 0.])
    """
    lengths = np.diff(offsets)
    steps = np.repeat(np.maximum(lengths - 1, 1), lengths)
    place = (np.arange(len(values)) - np.repeat(offsets[:-1], lengths)) / steps
    centred = place - np.repeat(segment_mean(place, offsets), lengths)
    slope = ratio(segment_sum(centred * values, offsets), segment_sum(centred**2, offsets))
    slope[lengths == 1] = 0.0
    return slope


@numba.njit(cache=True, nogil=True)
def worst_window(values: FloatArray, offsets: Longs, size: int) -> FloatArray:
    """Lowest mean of `size` neighbours; the mean of all if there are fewer."""
    result = np.full(len(offsets) - 1, np.nan)
    for i in range(len(result)):
        start, end = offsets[i], offsets[i + 1]
        width = min(size, end - start)
        for first in range(start, end - width + 1 if width else start):
            mean = values[first : first + width].sum() / width
            if not mean >= result[i]:  # NaN, before the first, included
                result[i] = mean
    return result


@numba.njit(cache=True, nogil=True)
def longest_run(flags: NDArray[np.bool_], offsets: Longs) -> FloatArray:
    """Length of the longest run of flagged neighbours."""
    result = np.full(len(offsets) - 1, np.nan)
    for i in range(len(result)):
        if offsets[i] == offsets[i + 1]:
            continue
        best = run = 0
        for k in range(offsets[i], offsets[i + 1]):
            run = run + 1 if flags[k] else 0
            best = max(best, run)
        result[i] = best
    return result
