"""Aggregates: the probabilities of the tokens of a segment -> 16 numbers per segment."""

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np

from features._word_quality.columns import Floats, Longs

_CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1 in logarithms


@dataclass(frozen=True)
class Aggregate:
    """One number of a segment's non-empty (m,) probabilities, given in falling order, and in text order."""

    name: str
    description: str
    unit: str
    of: Callable[[Floats, Floats], float]


def _top(count: int) -> Callable[[Floats, Floats], float]:
    return lambda falling, _: float(falling[:count].mean())


def _share(threshold: float) -> Callable[[Floats, Floats], float]:
    return lambda falling, _: float((falling > threshold).mean())


def _quantile(level: float) -> Callable[[Floats, Floats], float]:
    return lambda falling, _: quantile(falling, level)


def _log_ok(falling: Floats, _: Floats) -> float:
    return float(np.log1p(-np.minimum(falling, 1 - _CERTAIN)).sum())


@numba.njit(cache=True, nogil=True)
def quantile(falling: Floats, level: float) -> float:
    """As `np.quantile` (linear between neighbours), of values in falling order."""
    place = (1 - level) * (len(falling) - 1)
    low = int(place)
    high = min(low + 1, len(falling) - 1)
    return float(falling[low] + (place - low) * (falling[high] - falling[low]))


@numba.njit(cache=True, nogil=True)
def longest_run(values: Floats, threshold: float) -> int:
    """The most neighbours in a row above the threshold."""
    best = run = 0
    for value in values:
        run = run + 1 if value > threshold else 0
        best = max(best, run)
    return best


AGGREGATES: tuple[Aggregate, ...] = (
    Aggregate("mean", "mean of P(BAD)", "probability", lambda falling, _: float(falling.mean())),
    Aggregate("top3", "mean of the 3 highest P(BAD), of all if there are fewer", "probability", _top(3)),
    Aggregate("top5", "mean of the 5 highest P(BAD), of all if there are fewer", "probability", _top(5)),
    Aggregate("top10", "mean of the 10 highest P(BAD), of all if there are fewer", "probability", _top(10)),
    Aggregate("above_30", "share with P(BAD) > .3", "share", _share(0.3)),
    Aggregate("above_50", "share with P(BAD) > .5", "share", _share(0.5)),
    Aggregate("above_70", "share with P(BAD) > .7", "share", _share(0.7)),
    Aggregate("quartile1", "first quartile of P(BAD)", "probability", _quantile(0.25)),
    Aggregate("median", "median of P(BAD)", "probability", _quantile(0.5)),
    Aggregate("quartile3", "third quartile of P(BAD)", "probability", _quantile(0.75)),
    Aggregate("percentile90", "90th percentile of P(BAD)", "probability", _quantile(0.9)),
    Aggregate("maximum", "highest P(BAD)", "probability", lambda falling, _: float(falling[0])),
    Aggregate("log_ok", "log probability that nothing is BAD, places taken as independent", "nats", _log_ok),
    Aggregate("expected", "expected number of BAD places", "places", lambda falling, _: float(falling.sum())),
    Aggregate(
        "count_50", "number with P(BAD) > .5", "places", lambda falling, _: float((falling > 0.5).sum())
    ),
    Aggregate(
        "longest_run",
        "most neighbours in a row with P(BAD) > .4",
        "places",
        lambda _, values: float(longest_run(values, 0.4)),
    ),
)


def aggregate(probability: Floats, offsets: Longs) -> Floats:
    """(n, 16) the aggregates of every text; NaN for a text without tokens.

    >>> aggregate(np.array([0.2, 0.6]), np.array([0, 2, 2]))[:, [0, 5, 13, 15]]
    array([[0.4, 0.5, 0.8, 1. ],
           [nan, nan, nan, nan]])
    """
    result = np.full((len(offsets) - 1, len(AGGREGATES)), np.nan)
    for i in np.flatnonzero(np.diff(offsets)).tolist():
        values = probability[offsets[i] : offsets[i + 1]]
        falling = np.sort(values)[::-1]
        result[i] = [a.of(falling, values) for a in AGGREGATES]
    return result
