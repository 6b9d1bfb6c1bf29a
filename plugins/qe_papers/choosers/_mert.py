"""Minimum error rate training of a log-linear model. It uses exact line searches on the metric itself."""

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from features.basics.array_types import FloatArray
from qe.statistics.result import Aggregate

_ROUNDS = 10
_NARROW = 1e-9  # intervals of equal choices that are narrower are passed over


def mert(
    values: FloatArray,
    statistics: FloatArray,
    aggregate: Aggregate,
    *,
    start: FloatArray,
    restarts: int,
    seed: int,
) -> FloatArray:
    """(k,) weights of (S, n, k) features such that the best sums choose the best outputs. The translation
    with the highest sum is chosen, and the metric of the choice is maximised.

    statistics  (S, n, c) of the metric; the score of a choice is the aggregate of its sums
    start       (k,) first weights; `restarts` more are drawn from a normal distribution

    Along a line through the weights every choice changes at known places, so that the best point of the line
    is found exactly. Lines are the axes and as many random directions.

    Source: Och 2003, "Minimum error rate training in statistical machine translation", section 4.
    """
    rng = np.random.default_rng(seed)
    starts = [start, *rng.normal(size=(restarts, values.shape[2]))]
    found = [_climbed(values, statistics, aggregate, weights, rng) for weights in starts]
    return max(found, key=lambda pair: pair[0])[1]


def _climbed(
    values: FloatArray, statistics: FloatArray, aggregate: Aggregate, weights: FloatArray, rng: Any
) -> tuple[float, FloatArray]:
    score = -np.inf
    for _ in range(_ROUNDS):
        before = score
        for direction in _directions(values.shape[2], rng):
            best, step = line_search(values @ weights, values @ direction, statistics, aggregate)
            if best > score:
                score, weights = best, weights + step * direction
        if not score > before:
            break
    return score, weights / max(float(np.linalg.norm(weights)), _NARROW)


def _directions(columns: int, rng: Any) -> Iterator[FloatArray]:
    yield from np.eye(columns)
    yield from rng.normal(size=(columns, columns))


def line_search(
    base: FloatArray, slope: FloatArray, statistics: FloatArray, aggregate: Aggregate
) -> tuple[float, float]:
    """(score, t) of the best t. In every segment, the system with the highest base + t slope is chosen.

    base, slope  (S, n)
    """
    places, segments, left, taken, first = _changes(base, slope)
    order = np.argsort(places, kind="stable")
    places, segments, left, taken = (column[order] for column in (places, segments, left, taken))
    begun = statistics[first, np.arange(len(first))].sum(axis=0)
    changes = statistics[taken, segments] - statistics[left, segments]
    scores = aggregate(np.vstack([begun, begun + np.cumsum(changes, axis=0)]))
    if not len(places):
        return float(scores[0]), 0.0
    ends = np.concatenate([[places[0] - 2.0], places, [places[-1] + 2.0]])
    wide = np.diff(ends) > _NARROW
    best = int(np.argmax(np.where(wide, scores, -np.inf)))
    return float(scores[best]), float((ends[best] + ends[best + 1]) / 2)


@numba.njit(cache=True, nogil=True)
def _changes(base: Any, slope: Any) -> Any:
    systems, segments = base.shape
    most = segments * (systems - 1)
    places, location = np.empty(most), np.empty(most, np.int64)
    left, taken = np.empty(most, np.int64), np.empty(most, np.int64)
    first = np.empty(segments, np.int64)
    count = 0
    for i in range(segments):
        own = 0
        for s in range(1, systems):
            if slope[s, i] < slope[own, i] or (slope[s, i] == slope[own, i] and base[s, i] > base[own, i]):
                own = s
        first[i] = own
        while True:
            following, place = -1, np.inf
            for s in range(systems):
                if slope[s, i] > slope[own, i]:
                    t = (base[own, i] - base[s, i]) / (slope[s, i] - slope[own, i])
                    if t < place or (t == place and slope[s, i] > slope[following, i]):
                        following, place = s, t
            if following < 0:
                break
            places[count], location[count], left[count], taken[count] = place, i, own, following
            count, own = count + 1, following
    return places[:count], location[:count], left[:count], taken[:count], first
