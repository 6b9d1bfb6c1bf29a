"""Randomized Tukey HSD: all pairs of several systems at once, family-wise error held.

Carterette 2012 ("Multiple testing in statistical analysis of systems-based information retrieval
experiments"), after Tukey's honestly significant difference.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError
from qe.statistics.groups import Groups, group_index, group_sums
from qe.statistics.reach import Deals
from qe.statistics.result import (
    BLOCK_BYTES,
    Aggregate,
    Rescore,
    TestResult,
    as_runs,
    check_samples,
    monte_carlo_error,
    p_value,
    rounding,
)
from qe.statistics.sums import deals, dealt_sums

NAME = "randomized Tukey HSD"
Pairs = dict[tuple[str, str], TestResult]


def tukey_hsd(
    statistics: Mapping[str, FloatArray],
    aggregate: Aggregate,
    *,
    samples: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    threads: int = 1,
) -> Pairs:
    """Every pair of systems, p already corrected for all pairs.

    statistics  name -> (runs, n, k) or (n, k), all of one shape

    In each shuffle the outputs of each segment (and run) are dealt to the systems at random; p is the share
    of shuffles whose largest difference between any two pseudo-systems is at least the pair's difference.

    Raises InputError for fewer than two systems and for statistics of different shape.
    """
    check_samples(samples)
    names = _names(statistics)
    runs = [as_runs(statistics[name], f"statistics of '{name}'") for name in names]
    for name, array in zip(names, runs, strict=True):
        if array.shape != runs[0].shape:
            raise InputError(
                f"'{name}' has (runs, segments, columns) {array.shape}, '{names[0]}' {runs[0].shape}"
            )
    units = np.stack([group_sums(array, groups).reshape(-1, array.shape[2]) for array in runs], axis=1)
    scores = np.asarray(aggregate(np.stack([array.sum(axis=(0, 1)) for array in runs])))
    shuffled = aggregate(dealt_sums(units, samples, seed, threads=threads))
    unit = "segment-run" if len(runs[0]) > 1 else "segment"
    label = unit if groups is None else unit.replace("segment", "group")
    return _pairs(names, scores, shuffled, label, int((units != units[:, :1]).any(axis=(1, 2)).sum()))


def tukey_hsd_rescored(
    rescore: Rescore,
    names: tuple[str, ...],
    rows: int,
    *,
    samples: int = 1000,
    seed: int = 0,
    groups: Groups | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Pairs:
    """The same for a metric that is no function of sums.

    `rescore` gets counts (B, m rows) of 0 and 1 over the rows of all m systems, one system after the other,
    and returns (B,) scores; `block_bytes` bounds the counts of one call and changes no digit.
    Put the predictions of different systems on a common scale (ranks) before.
    """
    check_samples(samples)
    systems = len(_names(dict.fromkeys(names)))
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    own = np.zeros((systems, systems, rows), np.int32)
    own[np.arange(systems), np.arange(systems)] = 1
    scores = rescore(own.reshape(systems, -1))
    shuffled = np.empty((samples, systems))
    block = max(1, block_bytes // (16 * rows * systems))
    for first in range(0, samples, block):
        last = min(first + block, samples)
        dealt = deals(units, systems, seed, first, last)[:, index]
        for j in range(systems):
            counts = dealt[:, None, :, j] == np.arange(systems)[None, :, None]
            shuffled[first:last, j] = rescore(counts.reshape(last - first, -1).astype(np.int32))
    return _pairs(names, scores, shuffled, "segment" if groups is None else "group", units)


def _names(systems: Mapping[str, object]) -> tuple[str, ...]:
    if len(systems) < 2:
        raise InputError(f"comparing all pairs needs at least two systems, but got {len(systems)}")
    return tuple(systems)


def _pairs(names: tuple[str, ...], scores: FloatArray, shuffled: FloatArray, label: str, units: int) -> Pairs:
    """scores (m,), shuffled (samples, m); `units` in which any two systems differ."""
    largest = shuffled.max(axis=1) - shuffled.min(axis=1)
    tolerance = rounding(scores)
    reach = Deals(units, label, "greater", systems=len(names))
    results: Pairs = {}
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        difference = float(scores[i] - scores[j])
        p = p_value(largest, difference, "two-sided", exact=False, tolerance=tolerance)
        error = monte_carlo_error(p, len(shuffled), exact=False)
        results[a, b] = TestResult(
            difference, p, NAME, label, len(shuffled), "two-sided", False, reach, error
        )
    return results
