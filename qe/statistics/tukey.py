"""Randomized Tukey HSD, and Scheffe's test: several systems at once, family-wise error held.

Carterette 2012 ("Multiple testing in statistical analysis of systems-based information retrieval
experiments"), after Tukey's honestly significant difference; Scheffe 1953 by the same exchanges. Riezler and
Maxwell 2005, section 4.4, name both.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
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

Contrasts = Literal["pairs", "all"]
Dealt = Literal["segment", "segment-run"]
DEALT: tuple[Dealt, ...] = get_args(Dealt)
NAME = "randomized Tukey HSD"
SCHEFFE = "randomized Scheffe test"
NAMES: Mapping[Contrasts, str] = {"pairs": NAME, "all": SCHEFFE}
Pairs = dict[tuple[str, str], TestResult]


def tukey_hsd(
    statistics: Mapping[str, FloatArray],
    aggregate: Aggregate,
    *,
    samples: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    threads: int = 1,
    contrasts: Contrasts = "pairs",
    exchange: str = "segment",
) -> Pairs:
    """Every pair of systems, p already corrected for all pairs.

    In each shuffle the outputs of each segment are dealt to the systems at random; p is the share
    of shuffles whose largest difference between any two pseudo-systems is at least the pair's difference; for
    Scheffe, whose largest contrast, on the scale of a difference of two, is.

    Raises InputError for fewer than two systems, statistics of different shape, unknown exchange.

    Parameters
    ----------
    contrasts : Contrasts, default='pairs'
        pairs: Tukey's test; all: Scheffe's, whose claim covers every contrast of the systems, such as the
        mean of some against the mean of others.
    exchange : str, default='segment'
        What is dealt: segment (its runs stay together, for new segments) or segment-run (every run alone, for
        these outputs only), as in `randomization_tests`.
    statistics : mapping of str to array of float
        Name -> (runs, n, k) or (n, k), all of one shape.
    """
    check_samples(samples)
    known_name("exchange", exchange, DEALT)
    names = _names(statistics)
    runs = [as_runs(statistics[name], f"statistics of '{name}'") for name in names]
    for name, array in zip(names, runs, strict=True):
        if array.shape != runs[0].shape:
            raise InputError(
                f"'{name}' has (runs, segments, columns) {array.shape}, '{names[0]}' {runs[0].shape}"
            )
    kept = [array.sum(axis=0, keepdims=True) if exchange == "segment" else array for array in runs]
    units = np.stack([group_sums(array, groups).reshape(-1, array.shape[2]) for array in kept], axis=1)
    scores = np.asarray(aggregate(np.stack([array.sum(axis=(0, 1)) for array in runs])))
    shuffled = aggregate(dealt_sums(units, samples, seed, threads=threads))
    unit = "segment-run" if len(kept[0]) > 1 else "segment"
    label = unit if groups is None else unit.replace("segment", "group")
    differing = int((units != units[:, :1]).any(axis=(1, 2)).sum())
    return _pairs(names, scores, shuffled, label, differing, contrasts)


def tukey_hsd_rescored(
    rescore: Rescore,
    names: tuple[str, ...],
    rows: int,
    *,
    samples: int = 1000,
    seed: int = 0,
    groups: Groups | None = None,
    block_bytes: int = BLOCK_BYTES,
    contrasts: Contrasts = "pairs",
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
    label = "segment" if groups is None else "group"
    return _pairs(names, scores, shuffled, label, units, contrasts)


def _names(systems: Mapping[str, object]) -> tuple[str, ...]:
    if len(systems) < 2:
        raise InputError(f"comparing all pairs needs at least two systems, but got {len(systems)}")
    return tuple(systems)


def _largest(shuffled: FloatArray, contrasts: Contrasts) -> FloatArray:
    if contrasts == "pairs":
        return np.asarray(shuffled.max(axis=1) - shuffled.min(axis=1))
    deviations = shuffled - shuffled.mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt(2 * (deviations**2).sum(axis=1)))


def _pairs(
    names: tuple[str, ...],
    scores: FloatArray,
    shuffled: FloatArray,
    label: str,
    units: int,
    contrasts: Contrasts,
) -> Pairs:
    largest = _largest(shuffled, contrasts)
    tolerance = rounding(scores)
    reach = Deals(units, label, "greater", systems=len(names))
    results: Pairs = {}
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        difference = float(scores[i] - scores[j])
        p = p_value(largest, difference, "two-sided", exact=False, tolerance=tolerance)
        error = monte_carlo_error(p, len(shuffled), exact=False)
        results[a, b] = TestResult(
            difference, p, NAMES[contrasts], label, len(shuffled), "two-sided", False, reach, error
        )
    return results
