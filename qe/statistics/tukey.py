"""Randomized Tukey HSD, and Scheffe's test: several systems at once, family-wise error held.

Carterette 2012 ("Multiple testing in statistical analysis of systems-based information retrieval
experiments"); Scheffe 1953 by the same exchanges; Riezler and Maxwell 2005, section 4.4, name both.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from features.basics.array_types import FloatArray
from features.basics.errors import InputError, known_name
from qe.statistics.draws import permutations, permuted_sums, sample_blocks
from qe.statistics.levels import Groups, group_index, group_sums
from qe.statistics.result import (
    Aggregate,
    Permutations,
    Rescore,
    TestResult,
    as_runs,
    check_samples,
    monte_carlo_error,
    p_value,
    rounding,
)

Contrasts = Literal["pairs", "all"]
Permuted = Literal["segment", "segment-run"]
PERMUTED: tuple[Permuted, ...] = get_args(Permuted)
NAME = "randomized Tukey HSD"
SCHEFFE = "randomized Scheffe test"
NAMES: Mapping[Contrasts, str] = {"pairs": NAME, "all": SCHEFFE}
TestsOfPairs = dict[tuple[str, str], TestResult]


def tukey_hsd(
    statistics: Mapping[str, FloatArray],
    aggregate: Aggregate,
    *,
    samples: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    contrasts: Contrasts = "pairs",
    exchange: str = "segment",
) -> TestsOfPairs:
    """Every pair of systems, p already corrected for all pairs.

    In each shuffle the outputs of each segment are permuted among the systems; p is the share of shuffles
    whose largest difference between any two pseudo-systems is at least the pair's difference; for Scheffe,
    whose largest contrast, on the scale of a difference of two, is.

    Parameters
    ----------
    contrasts : Contrasts, default='pairs'
        pairs: Tukey's test; all: Scheffe's, whose claim covers every contrast of the systems, such as the
        mean of some against the mean of others.
    exchange : str, default='segment'
        What is permuted: segment (its runs stay together, for new segments) or segment-run (every run alone,
        for these outputs only), as in `randomization_tests`.
    statistics : mapping of str to array of float
        Name -> (runs, n, k) or (n, k), all of one shape.
    """
    check_samples(samples)
    known_name("exchange", exchange, PERMUTED)
    names = tuple(statistics)
    _check_systems(names)
    runs = [as_runs(statistics[name], f"statistics of '{name}'") for name in names]
    for name, array in zip(names, runs, strict=True):
        if array.shape != runs[0].shape:
            raise InputError(
                f"'{name}' has (runs, segments, columns) {array.shape}, '{names[0]}' {runs[0].shape}"
            )
    pooled = [array.sum(axis=0, keepdims=True) if exchange == "segment" else array for array in runs]
    units = np.stack([group_sums(array, groups).reshape(-1, array.shape[2]) for array in pooled], axis=1)
    scores = np.asarray(aggregate(np.stack([array.sum(axis=(0, 1)) for array in runs])))
    shuffled = aggregate(permuted_sums(units, samples, seed))
    unit = "segment-run" if len(pooled[0]) > 1 else "segment"
    label = unit if groups is None else unit.replace("segment", "group")
    differing = int((units != units[:, :1]).any(axis=(1, 2)).sum())
    return _tests(names, scores, shuffled, label, differing, contrasts)


def tukey_hsd_rescored(
    rescore: Rescore,
    names: Sequence[str],
    rows: int,
    *,
    samples: int = 1000,
    seed: int = 0,
    groups: Groups | None = None,
    contrasts: Contrasts = "pairs",
) -> TestsOfPairs:
    """The same for a metric that is no function of sums, rescored from counts (B, m rows) of 0 and 1."""
    check_samples(samples)
    _check_systems(names)
    systems = len(names)
    index, units = (np.arange(rows), rows) if groups is None else group_index(groups, rows)
    unchanged = np.repeat(np.eye(systems, dtype=np.int32), rows, axis=1)
    shuffled = np.empty((samples, systems))
    for first, last in sample_blocks(samples, 16 * rows * systems, samples):
        permuted = permutations(units, systems, seed, first, last)[:, index]
        for j in range(systems):
            counts = permuted[:, None, :, j] == np.arange(systems)[None, :, None]
            shuffled[first:last, j] = rescore(counts.reshape(last - first, -1).astype(np.int32))
    label = "segment" if groups is None else "group"
    return _tests(names, rescore(unchanged), shuffled, label, units, contrasts)


def _check_systems(names: Sequence[str]) -> None:
    if len(names) < 2:
        raise InputError(f"comparing all pairs needs at least two systems, but got {len(names)}")


def _tests(
    names: Sequence[str], scores: FloatArray, shuffled: FloatArray, label: str, units: int,
    contrasts: Contrasts,
) -> TestsOfPairs:  # fmt: skip
    if contrasts == "pairs":
        largest = np.asarray(shuffled.max(axis=1) - shuffled.min(axis=1))
    else:
        deviations = shuffled - shuffled.mean(axis=1, keepdims=True)
        largest = np.asarray(np.sqrt(2 * (deviations**2).sum(axis=1)))
    tolerance = rounding(scores)
    reach = Permutations(units, label, "greater", systems=len(names))
    results: TestsOfPairs = {}
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        difference = float(scores[i] - scores[j])
        p = p_value(largest, difference, "two-sided", exact=False, tolerance=tolerance)
        error = monte_carlo_error(p, len(shuffled), exact=False)
        results[a, b] = TestResult(
            difference, p, NAMES[contrasts], label, len(shuffled), "two-sided", False, reach, error
        )
    return results
